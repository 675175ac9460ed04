"""Jars by Maven coordinates, with no more than Java and what PySpark brings.

PySpark ships Ivy, which is what `spark.jars.packages` uses; here Ivy itself is run, so that jars
can be had before a session starts and for processes that are not Spark. They come from, in this
order: the settings named by SATURA_IVY_SETTINGS; the repository named by
DEFAULT_ARTIFACT_REPOSITORY, a variable that Spark knows too; the mirror of Maven Central in the
Maven settings of the user; Maven Central. The local Maven repository of the user is looked at
last. What was found once is kept in the cache directory of the user, and nothing is asked again.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pyspark

from satura.local_spark import find_java

SCALA: Final = "2.13"
KAFKA: Final = "3.9.2"

BROKER: Final = (
    f"org.apache.kafka:kafka_{SCALA}:{KAFKA}",
    # Without it the broker says nothing; the version is that of the interface it uses.
    "org.slf4j:slf4j-simple:1.7.36",
)
CONNECTOR: Final = (f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{pyspark.__version__}",)
# Repositories may be behind the package index that PySpark comes from, by weeks. This is the
# nearest set that can be had where that is so; a run that uses it says so.
OLDER_CONNECTOR: Final = (
    f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:4.2.0",
    f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}:4.0.0",
)
# Large, and part of every Spark.
PART_OF_SPARK: Final = ("org.apache.hadoop", "org.scala-lang", "org.slf4j")

SECONDS: Final = 300


class JarsMissingError(Exception):
    """The jars can not be had; the message says which, and why."""


class Connector(NamedTuple):
    """What lets Spark talk to Kafka."""

    jars: tuple[Path, ...]
    coordinates: tuple[str, ...]


@cache
def broker() -> tuple[Path, ...]:
    """Return the class path of the broker."""
    return resolve(BROKER)


@cache
def connector() -> Connector:
    """Return what Spark needs beyond its own jars, of its own version if that can be had."""
    try:
        return Connector(_without_own(resolve(CONNECTOR, PART_OF_SPARK)), CONNECTOR)
    except JarsMissingError as missing:
        try:
            jars = resolve(OLDER_CONNECTOR, PART_OF_SPARK)
        except JarsMissingError as both:
            raise JarsMissingError(f"{missing}; {both}") from None
        used = " with ".join(OLDER_CONNECTOR)
        # Not an error, as the tests are worth running; never silent, as it is not what users have.
        warnings.warn(f"{missing}; tested with {used} instead", stacklevel=2)
        return Connector(_without_own(jars), OLDER_CONNECTOR)


def resolve(coordinates: Iterable[str], excluded: Iterable[str] = ()) -> tuple[Path, ...]:
    """Return the jars of `group:artifact:version` coordinates and of all they depend on.

    A later coordinate wins over what an earlier one depends on. Organizations that are `excluded`
    are left out.
    """
    coordinates, excluded = tuple(coordinates), tuple(excluded)
    folder = _cache_folder()
    settings = _settings(folder)
    stamp = repr((coordinates, excluded, settings.read_text("utf-8")))
    listing = folder / f"{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.classpath"
    known = _listed(listing)
    if known:
        return known
    module = listing.with_suffix(".xml")
    module.write_text(_module(coordinates, excluded), "utf-8")
    draft = listing.with_suffix(f".{os.getpid()}")
    command = [
        str(find_java()), "-cp", str(_own_jar("ivy-")), "org.apache.ivy.Main",
        "-settings", str(settings), "-ivy", str(module), "-confs", "default",
        "-types", "jar", "bundle", "-cachepath", str(draft),
    ]  # fmt: skip
    wanted = " and ".join(coordinates)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise JarsMissingError(f"{wanted}: no answer after {SECONDS} s") from None
    if done.returncode or not _listed(draft):
        draft.unlink(missing_ok=True)
        raise JarsMissingError(f"{wanted}: {_reason(done.stdout)}")
    draft.replace(listing)
    return _listed(listing)


def _cache_folder() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "satura" / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _listed(listing: Path) -> tuple[Path, ...]:
    """Return the jars of a listing, none if it is missing or one of them is."""
    if not listing.is_file():
        return ()
    jars = tuple(map(Path, listing.read_text("utf-8").strip().split(os.pathsep)))
    return jars if all(jar.is_file() for jar in jars) else ()


def _module(coordinates: tuple[str, ...], excluded: tuple[str, ...]) -> str:
    lines = [
        '<ivy-module version="2.0">',
        '<info organisation="satura" module="tests"/>',
        '<configurations><conf name="default"/></configurations>',
        '<dependencies defaultconfmapping="default->default">',
    ]
    for coordinate in coordinates:
        group, artifact, version = map(quoteattr, coordinate.split(":"))
        lines.append(f'<dependency org={group} name={artifact} rev={version} force="true"/>')
    lines += [f"<exclude org={quoteattr(name)}/>" for name in excluded]
    return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def _settings(folder: Path) -> Path:
    """Return the Ivy settings: those of the user, or ours for the repository of the user."""
    own = os.environ.get("SATURA_IVY_SETTINGS")
    if own:
        if not Path(own).is_file():
            raise JarsMissingError(f"SATURA_IVY_SETTINGS names no file: {own}")
        return Path(own)
    mirror = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY") or _mirror_of_central()
    root = f" root={quoteattr(mirror)}" if mirror else ""
    local = (Path.home() / ".m2" / "repository").as_uri()
    text = f"""<ivysettings>
<settings defaultResolver="all"/>
<caches defaultCacheDir={quoteattr(str(folder / "ivy"))}/>
<resolvers><chain name="all" returnFirst="true">
<ibiblio name="central" m2compatible="true"{root}/>
<ibiblio name="local" m2compatible="true" root={quoteattr(local)}/>
</chain></resolvers>
</ivysettings>
"""
    settings = folder / "settings.xml"
    if not settings.is_file() or settings.read_text("utf-8") != text:
        settings.write_text(text, "utf-8")
    return settings


def _mirror_of_central() -> str | None:
    """Return what the Maven settings of the user name instead of Maven Central, if anything."""
    file = Path.home() / ".m2" / "settings.xml"
    if not file.is_file():
        return None
    for mirror in ElementTree.parse(file).getroot().iterfind("{*}mirrors/{*}mirror"):
        of = {part.strip() for part in mirror.findtext("{*}mirrorOf", "").split(",")}
        url = mirror.findtext("{*}url", "").strip()
        if of & {"*", "external:*", "central"} and "!central" not in of and url:
            return re.sub(r"\$\{env\.(\w+)\}", lambda name: os.environ.get(name[1], ""), url)
    return None


def _reason(log: str) -> str:
    """Return what Ivy did not find and why it could not ask, or else its last lines."""
    lines = [line.strip(" :\t") for line in log.splitlines()]
    missing = [line for line in lines if line.endswith(": not found")]
    broken = re.findall(r"Server access error .*\((.*)\)", log)
    return "; ".join(dict.fromkeys(missing + broken or [line for line in lines if line][-3:]))


def _own_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _own_jar(prefix: str) -> Path:
    found = sorted(_own_jars().glob(f"{prefix}*.jar"))
    if not found:
        raise JarsMissingError(f"PySpark has no {prefix}*.jar in {_own_jars()}")
    return found[0]


def _without_own(jars: Iterable[Path]) -> tuple[Path, ...]:
    """Return the jars that Spark does not have, in whatever version."""
    own = {_artifact(jar) for jar in _own_jars().glob("*.jar")}
    return tuple(jar for jar in jars if _artifact(jar) not in own)


def _artifact(jar: Path) -> str:
    return re.sub(r"-\d.*$", "", jar.stem)
