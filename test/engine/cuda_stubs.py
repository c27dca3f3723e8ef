"""Stand-ins for the CUDA libraries of a torch wheel, so that its CPU half imports without two gigabytes of GPU libraries.

    python cuda_stubs.py <site-packages>

For machines where pip finds no CPU build of torch. Every function that torch would look up exists and returns 1; none is called on
the CPU. The CUDA runtime and CUPTI are the real ones (13 MB), so that asking for a device gets an honest "none". Needs cc and readelf.
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def readelf(flag, library):
    return subprocess.run(["readelf", flag, str(library)], capture_output=True, text=True, check=True).stdout


def wanted_symbols(site):
    """soname -> version -> symbols that torch's libraries expect of libraries that are not installed."""
    lib = site / "torch" / "lib"
    have = {p.name for p in site.glob("nvidia/**/lib/*.so*")} | {p.name for p in lib.iterdir()}
    wanted = {}
    for so in sorted(lib.glob("*.so")):
        for name in re.findall(r"NEEDED.*\[(.+?)\]", readelf("-dW", so)):
            if re.match(r"lib(cu|nv|nccl)", name) and name not in have:
                wanted.setdefault(name, {})
        owner, file = {}, None
        for line in readelf("-VW", so).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found.group(1)
            elif file in wanted and (found := re.search(r"Name: (\S+)\s+Flags", line)):
                owner[found.group(1)] = file
        for symbol, version in re.findall(r" UND (\w+)(?:@(\S+))?", readelf("-sW", so)):
            if version in owner:
                wanted[owner[version]].setdefault(version, set()).add(symbol)
            elif not version:
                stem = symbol.lower()
                name = next((n for n in wanted if stem.startswith(n[3:].split(".")[0].split("_")[0].lower())), None)
                if name:
                    wanted[name].setdefault("", set()).add(symbol)
    return wanted


def build(lib, soname, versions):
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder) / "stub.c", pathlib.Path(folder) / "versions"
        source.write_text("".join(f"int {s}(void) {{ return 1; }}\n" for group in versions.values() for s in sorted(group)))
        named = "".join(f"{v} {{ global: {' '.join(s + ';' for s in sorted(g))} }};\n" for v, g in versions.items() if v)
        script.write_text(named or "{ global: *; };\n")
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}", "-o", str(lib / soname), str(source)],
            check=True,
        )


if __name__ == "__main__":
    packages = pathlib.Path(sys.argv[1])
    for soname, versions in wanted_symbols(packages).items():
        build(packages / "torch" / "lib", soname, versions)
