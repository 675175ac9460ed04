def sample_predicates(inputs, lines=20000):
    import random, os
    r=random.Random(0); out={}
    for i in inputs:
        p=i.path
        if not p or i.compression: continue
        n=os.path.getsize(p)
        with open(p,'rb') as f:
            for _ in range(64):
                f.seek(r.randrange(max(1,n-16384))); 
                for l in f.read(16384).split(b'\n')[1:-1]:
                    x=l.split(b' ',2)
                    if len(x)==3: out[x[1].decode()]=out.get(x[1].decode(),0)+1
    return out
