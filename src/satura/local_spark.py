"""A well-tuned local Spark session, and where Java is.

Library code is handed a session and never makes or stops one; this is the convenience for people
who do not have one yet, and for the command line. Every setting says why it is there. A session
that the caller made works just as well: no setting here is needed for correctness.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from satura.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Jit: TypeAlias = Literal["quick", "thorough"]

MINIMUM_JAVA: Final = 17
JAVA_HINT: Final = (
    "install a Java 17 or newer runtime and set JAVA_HOME, for example "
    "`sudo apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), "
    "`sudo dnf install java-17-openjdk-headless` (Fedora) or `brew install openjdk@17` (macOS)"
)


def session(
    *,
    master: str | None = None,
    memory: str = "4g",
    name: str = "satura",
    ui: bool = False,
    jit: Jit = "thorough",
    config: dict[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session tuned for saturation, making it if there is none.

    `master` defaults to all cores of this machine, `memory` is the heap of the JVM, `ui` serves
    the Spark UI, `config` overrides any Spark setting. `jit` says how the JVM compiles: `quick`
    saves seconds in a run of under a minute and costs many in a long one.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415  (slow to import)

    java = find_java()
    os.environ.setdefault("JAVA_HOME", str(java.parent.parent))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Workers must be this interpreter, or they may lack the packages this one has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(master or "local[*]")
    for key, value in (_settings(java, memory, ui, jit) | (config or {})).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _settings(java: Path, memory: str, ui: bool, jit: Jit) -> dict[str, str]:
    return {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": _java_options(java, memory, jit),
        "spark.ui.enabled": str(ui).lower(),
        # The bar would be mixed into our own progress lines.
        "spark.ui.showConsoleProgress": "false",
        # Four tasks a core keep all busy to the end of a stage; more only costs start-up.
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 2)),
        "spark.sql.adaptive.enabled": "true",
        # Adaptive merging of small partitions would undo the parallelism of a two-core machine.
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "true",
        # Once both sides of a join are shuffled, a hash table of one of them beats sorting both.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": str(64 << 20),
        # Splits of 32 MiB: enough tasks to balance, few enough that set-up does not show.
        "spark.sql.files.maxPartitionBytes": str(32 << 20),
        # Ids are hashes and do not compress; zstd level 1 gains on terms and costs little.
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.hadoop.parquet.compression.codec.zstd.level": "1",
        "spark.shuffle.compress": "true",
        "spark.io.compression.codec": "lz4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Every table that is broadcast takes a page, however small it is; one round of joins may
        # broadcast a hundred of them.
        "spark.buffer.pageSize": "2m",
        # Nothing here uses a catalog; the in-memory one starts faster and leaves no files.
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "satura-warehouse"),
    }


def _java_options(java: Path, memory: str, jit: Jit) -> str:
    # Throughput matters here, pauses do not: the parallel collector beats G1 on few cores.
    logs = Path(__file__).parent / "log4j2.properties"
    options = ["-XX:+UseParallelGC", f"-Dlog4j2.configurationFile=file:{logs}"]
    heap = re.fullmatch(r"(\d+)([kmgt])b?", memory.lower())
    if heap:
        # Half the heap at once: growing it step by step costs a full collection each time.
        kibibytes = int(heap[1]) * 1024 ** "kmgt".index(heap[2])
        options.append(f"-Xms{max(2048, kibibytes // 2)}k")
    if jit == "quick":
        options.append("-XX:TieredStopAtLevel=1")
    archive = class_archive(java)
    if archive.is_file():
        # A missing or outdated archive is ignored by the JVM, so this is never a risk.
        options += [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    return " ".join(options)


def class_archive(java: Path) -> Path:
    """Return where the JVM's class archive for this Java and Spark is kept.

    With it a session starts in about half the time. `satura warm-up` (part of `make setup`)
    writes it; without it everything works, only slower to start.
    """
    import pyspark  # noqa: PLC0415

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "satura"
    home = Path(pyspark.__file__).parent
    stamp = f"{java.resolve()}|{java_version(java)}|{home}|{pyspark.__version__}"
    return cache / f"classes-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.jsa"


def find_java() -> Path:
    """Return the `java` to use, or say exactly what to install."""
    candidates = [Path(home) / "bin" / "java" for home in [os.environ.get("JAVA_HOME")] if home]
    on_path = shutil.which("java")
    if on_path:
        candidates.append(Path(on_path).resolve())
    for root in ("/usr/lib/jvm", "/opt/homebrew/opt", "/Library/Java/JavaVirtualMachines"):
        candidates += sorted(Path(root).glob("*/bin/java"), reverse=True)
        candidates += sorted(Path(root).glob("*/Contents/Home/bin/java"), reverse=True)
    seen: list[str] = []
    for java in candidates:
        if not java.is_file():
            continue
        version = java_version(java)
        if version >= MINIMUM_JAVA:
            return java
        seen.append(f"{java} is version {version}")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise ConfigError(
        "JAVA-MISSING", f"no Java {MINIMUM_JAVA} or newer was found{found}", JAVA_HINT
    )


def java_version(java: Path) -> int:
    """Return the feature version of a `java`, 0 when it does not run."""
    release = java.resolve().parent.parent / "release"
    if release.is_file():
        match = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(errors="replace"))
        if match:
            return int(match[1])
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(match[1]) if match else 0


def write_class_archive() -> Path | None:
    """Run a small job in a JVM of its own that writes its class archive when it exits."""
    archive = class_archive(find_java())
    archive.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.with_suffix(f".{os.getpid()}")
    try:
        subprocess.run(
            [sys.executable, "-c", _WARM_UP, str(draft)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=True,
        )  # fmt: skip
        draft.replace(archive)
    except (OSError, subprocess.SubprocessError) as error:
        log.info("no class archive: %s", error)
        draft.unlink(missing_ok=True)
        return None
    return archive


_WARM_UP: Final = """
import sys, tempfile
from pathlib import Path
import satura
spark = satura.session(config={
    "spark.driver.extraJavaOptions": f"-XX:+UseParallelGC -XX:ArchiveClassesAtExit={sys.argv[1]}",
})
with tempfile.TemporaryDirectory() as scratch:
    data = Path(scratch, "data.nt")
    data.write_text("<a:s> <a:p> <a:o> .\\n")
    kb = satura.materialize(spark, data, store=Path(scratch, "store"))
    kb.closure().collect()
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(240)
"""
