#!/bin/sh
# What `make demo` runs: a generated university, closed under RDFS, and five results explained.
# Everything is kept in .demo; running it again replaces it.
set -eu

SATURA=${SATURA:-.venv/bin/satura}
DEMO=.demo

say() { printf '\n%s\n' "$*"; }

say "1. Generate one university (seed 0): $DEMO/university"
"$SATURA" generate university --universities 1 --seed 0 --output "$DEMO/university" --overwrite

say "2. Read it and add everything RDFS entails: $DEMO/store"
"$SATURA" materialize "$DEMO/university" --rules rdfs --store "$DEMO/store" --overwrite

say "3. Five inferred triples, and the asserted triples they come from"
"$SATURA" why "$DEMO/store" --sample 5

cat <<TEXT

Next:
  $SATURA info $DEMO/store
  $SATURA export $DEMO/store --inferred -o $DEMO/inferred.nt.gz --overwrite
  $SATURA verify $DEMO/store
  $SATURA rules show rdfs
  $SATURA materialize YOUR-FILES --store YOUR-STORE
TEXT
