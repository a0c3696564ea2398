#!/usr/bin/env bash
# The crate mach2's idea of Darwin against include/darwin: every number and every structure that both have is compared, by a program that is compiled with
# the crate, and by static assertions in C that it writes. The crate is fetched; the words in its cfg lines are changed, as it is for macOS alone. A table
# has the counts; what the headers do not have is in target/suites/mach2-missing.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.6.0
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
package=$target/suites/mach2
rm -rf "$package" && mkdir -p "$package/fetch/src" "$package/src"
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nmach2 = "=%s"\n[workspace]\n' $version >"$package/fetch/Cargo.toml"
echo 'fn main() {}' >"$package/fetch/src/main.rs"
theirs=$(cd "$package/fetch" && cargo metadata --format-version=1 2>"$package/log" | python3 -c '
import json, os, sys
[it] = [it for it in json.load(sys.stdin)["packages"] if it["name"] == "mach2"]
print(os.path.dirname(it["manifest_path"]))')
cp -r "$theirs/src" "$package/mach2"
find "$package/mach2" -name '*.rs' -exec sed -i 's/target_vendor = "apple"/target_os = "linux"/g; s/target_os = "macos"/target_os = "linux"/g' {} +

MODULES="message port notify kern_return ndr mig bootstrap exception_types" python3 - "$package" include <<'END'
import os, re, sys
package, include = sys.argv[1:]
headers = ""
for root in [include + "/darwin", include]:
    for folder, _, files in os.walk(root):
        if root == include and "/darwin" in folder:
            continue
        headers += "".join(open(os.path.join(folder, it)).read() for it in files if it.endswith(".h"))
rows, structs, missing = [], [], []
for module in os.environ["MODULES"].split():
    text = open(f"{package}/mach2/{module}.rs").read()
    for name in re.findall(r"^pub const (\w+): \w+ =", text, re.M):
        known = re.search(rf"#define {name}\b", headers)
        (rows if known else missing).append(f"{module}::{name}")
    for name in re.findall(r"^pub (?:struct|union) (\w+)", text, re.M):
        known = re.search(rf"\b{name}\b", headers)
        (structs if known else missing).append(f"{module}::{name}")
with open(f"{package}/src/main.rs", "w") as main:
    main.write('#![allow(dead_code, non_camel_case_types, non_upper_case_globals, clippy::all)]\n#[path = "../mach2/lib.rs"]\nmod mach2;\nfn main() {\n')
    for it in rows:
        main.write(f'    println!("_Static_assert((unsigned) ({it.split("::")[1]}) == 0x{{:x}}u, \\"{it}\\");", mach2::{it} as u32);\n')
    for it in structs:
        tag = "struct " if re.search(rf"struct {it.split('::')[1]} {{", headers) and not re.search(rf"}} {it.split('::')[1]};", headers) else ""
        main.write(f'    println!("_Static_assert(sizeof({tag}{it.split("::")[1]}) == {{}}, \\"{it}\\");", core::mem::size_of::<mach2::{it}>());\n')
    main.write("}\n")
open(f"{package}/../mach2-missing", "w").write("\n".join(missing) + "\n")
print(f"{'mach2 ' + os.environ.get('VERSION', ''):32} {'compared':>8} {'differ':>10} {'not here':>9}", file=open(f"{package}/head", "w"))
print(f"{len(rows)} {len(structs)} {len(missing)}", file=open(f"{package}/counts", "w"))
END
# The crate's modules are at its root; here they are a module's.
find "$package/mach2" -name '*.rs' -exec sed -i 's/\bcrate::/crate::mach2::/g; s/^#!\[no_std\]$//; s/^#!\[deny.*$//' {} +
printf '[package]\nname = "compare"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >"$package/Cargo.toml"
(cd "$package" && CARGO_TARGET_DIR=$package/target cargo run --quiet) >"$package/asserts" 2>>"$package/log" || { tail -n 20 "$package/log" >&2; exit 1; }
{
    printf '#include <mach/exception.h>\n#include <mach/mach.h>\n#include <servers/bootstrap.h>\n'
    cat "$package/asserts"
} >"$package/compare.c"
differ=0
cc -std=gnu11 -w -fmax-errors=0 -fsyntax-only -I include/darwin -I include "$package/compare.c" 2>"$package/differences" || differ=$(grep -c 'error' "$package/differences")
read -r numbers structures missing <"$package/counts"
printf '%-32s %8s %10s %9s\n' "mach2 $version, and the headers" compared differ "not here"
printf '%-32s %8d %10d %9d\n' "numbers and structures" $((numbers + structures)) "$differ" "$missing"
grep 'error' "$package/differences" || true
[ "$differ" -eq 0 ]
