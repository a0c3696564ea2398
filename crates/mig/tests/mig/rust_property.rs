//! Random interfaces in Rust, generated, compiled and run: what goes in comes out again, by message and by trap.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::property::{Form, Shape, kind};
use crate::support::{mig, root, run, rustfmt};

/// What every program begins with: values of every type by chance.
const SUPPORT: &str = r#"
use mach as _;
use random::{Mixed, Random, RandomServer};
use slipway_mach::mig::{self, Array, Code, ReceiveRight, Target};
use slipway_mach::task::Task;
use std::ffi::CString;

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 29
    }

    /// Up to a limit: often none or all.
    fn below(&mut self, limit: usize) -> usize {
        match self.roll() % 4 {
            0 => 0,
            1 => limit,
            _ => self.roll() as usize % (limit + 1),
        }
    }

    fn list<T: Chance>(&mut self, most: usize) -> Vec<T> {
        (0..self.below(most)).map(|_| T::chance(self)).collect()
    }

    fn text(&mut self, size: usize) -> CString {
        let bytes: Vec<u8> = (0..self.below(size - 1)).map(|_| (self.roll() % 255 + 1) as u8).collect();
        CString::new(bytes).expect("no NUL in it")
    }
}

trait Chance {
    fn chance(dice: &mut Dice) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(impl Chance for $type { fn chance(dice: &mut Dice) -> Self { dice.roll() as $type } })* };
}
numbers! { u8 i16 i32 i64 }

impl<T: Chance, const N: usize> Chance for [T; N] {
    fn chance(dice: &mut Dice) -> Self {
        std::array::from_fn(|_| T::chance(dice))
    }
}

impl Chance for Mixed {
    fn chance(dice: &mut Dice) -> Self {
        Mixed {
            a: Chance::chance(dice),
            b: Chance::chance(dice),
            c: Chance::chance(dice),
            d: Chance::chance(dice),
            e: Chance::chance(dice),
        }
    }
}

#[derive(Clone)]
struct Server;
"#;

/// What it ends with.
const MAIN: &str = r#"
fn main() {
    for traps in [false, true] {
        let port = ReceiveRight::new().expect("a port");
        let (server, name) = (Random(port.make_send().expect("a right")), port.name());
        std::thread::spawn(move || {
            let failed = if traps {
                mig::serve_shared_traps(&port, Server, random::traps(), random::demux)
            } else {
                mig::serve(&port, |request| random::demux(&mut Server, request))
            };
            failed.expect("the server's port")
        });
        while traps && Task::current().trap_calls(name).is_none() {
            std::thread::yield_now();
        }
        talk(&server);
        let made = Task::current().trap_calls(name).unwrap_or(0);
        assert_eq!(made, if traps { TRAPS } else { 0 }, "calls by trap");
    }
}
"#;

/// The Rust type of an element of the interface.
fn element(defs: &str) -> &'static str {
    match defs.rsplit(' ').next().expect("a word") {
        "char" => "u8",
        "short" => "i16",
        "int" => "i32",
        "int64" => "i64",
        "pair_t" => "[i16; 2]",
        _ => "Mixed",
    }
}

/// What a type is in Rust: received, how a value is made, and whether it is passed by reference.
fn rust(defs: &str, form: Form) -> (String, String, bool) {
    let e = element(defs);
    match form {
        Form::Value => (e.to_owned(), format!("<{e}>::chance(&mut dice)"), e == "Mixed" || e.starts_with('[')),
        Form::Fixed(n) => (format!("[{e}; {n}]"), format!("<[{e}; {n}]>::chance(&mut dice)"), true),
        Form::Text(n) => ("CString".to_owned(), format!("dice.text({n})"), true),
        Form::UpTo(n) => (format!("Vec<{e}>"), format!("dice.list::<{e}>({n})"), true),
        Form::Unlimited => (format!("Array<{e}>"), format!("dice.list::<{e}>(3000)"), true),
        Form::Far => (format!("Array<{e}>"), format!("dice.list::<{e}>(700)"), true),
    }
}

/// The definitions, and a program that calls each routine.
fn program(routines: &[Shape]) -> (String, String) {
    let mut defs = "subsystem random 3000;\n#include <mach/std_types.defs>\ntype pair_t = struct[2] of short;\n\
                    type mixed_t = struct { int64 a; int b; short c; char d; char e; };\n\
                    routine mixed(server : mach_port_t; m : mixed_t);\n"
        .to_owned();
    let (mut server, mut client) = (String::new(), String::new());
    for (r, shape) in routines.iter().enumerate() {
        let (mut declared, mut parameters, mut outputs) = (String::new(), String::new(), Vec::new());
        let (mut values, mut actuals, mut checks) = (String::new(), Vec::new(), String::new());
        for (i, (kind, both)) in shape.iter().enumerate() {
            let (received, made, by_reference) = rust(&kind.defs, kind.form);
            let out = if *both { format!("a{i}") } else { format!("b{i}") };
            writeln!(defs, "type t{r}_{i}_t = {};", kind.defs).unwrap();
            let argument =
                if *both { format!("inout a{i} : t{r}_{i}_t") } else { format!("a{i} : t{r}_{i}_t; out b{i} : t{r}_{i}_t") };
            write!(declared, "; {argument}").unwrap();
            write!(parameters, ", a{i}: {received}").unwrap();
            writeln!(values, "        let a{i} = {made};").unwrap();
            actuals.push(if by_reference { format!("&a{i}") } else { format!("a{i}") });
            let back = if shape.len() == 1 { "back".to_owned() } else { format!("back.{out}") };
            let star = if matches!(kind.form, Form::Unlimited | Form::Far) { "*" } else { "" };
            writeln!(checks, "        assert!({star}{back} == {star}a{i}, \"routine {r}, argument {i}\");").unwrap();
            outputs.push((out, format!("a{i}")));
        }
        writeln!(defs, "routine r{r}(server : mach_port_t{declared});").unwrap();
        let (ty, value) = match outputs.as_slice() {
            [(_, value)] => (rust(&shape[0].0.defs, shape[0].0.form).0, value.clone()),
            several => {
                let fields: Vec<_> = several.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                (format!("random::R{r}Reply"), format!("random::R{r}Reply {{ {} }}", fields.join(", ")))
            }
        };
        writeln!(server, "    fn r{r}(&mut self, _: Target{parameters}) -> Result<{ty}, Code> {{\n        Ok({value})\n    }}")
            .unwrap();
        let call = format!("server.r{r}({}).expect(\"routine {r}\")", actuals.join(", "));
        writeln!(client, "    for _ in 0..20 {{\n{values}        let back = {call};\n{checks}    }}").unwrap();
    }
    // Of each routine that has no memory out of line there are twenty calls, and no message waits then.
    let plain = |shape: &&Shape| shape.iter().all(|(kind, _)| !matches!(kind.form, Form::Unlimited | Form::Far));
    let traps = 20 * routines.iter().filter(plain).count();
    let main = format!(
        "mod random;\n{SUPPORT}\nimpl RandomServer for Server {{\n    fn mixed(&mut self, _: Target, _: Mixed) -> Result<(), Code> {{\n        Ok(())\n    }}\n{server}}}\n\n\
         fn talk(server: &Random) {{\n    let mut dice = Dice(7);\n{client}}}\n\nconst TRAPS: u64 = {traps};\n{MAIN}"
    );
    (defs, main)
}

fn round_trip(dir: &Path, routines: &[Shape]) {
    let (defs, main) = program(routines);
    std::fs::write(dir.join("random.defs"), defs).unwrap();
    std::fs::write(dir.join("src/main.rs"), main).unwrap();
    run(mig().args(["--lang", "rust", "--trap", "-rust", "src/random.rs", "random.defs"]).current_dir(dir));
    run(rustfmt().arg("src/random.rs").current_dir(dir));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet", "--target-dir"]).arg(dir.join("target"));
    run(cargo.current_dir(dir));
    run(Command::new("timeout").arg("600").arg(dir.join("target/debug/random-interface")));
}

#[test]
#[ignore = "long: each interface is a program of its own"]
fn what_goes_in_comes_out_in_rust() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("random-interface");
    std::fs::create_dir_all(dir.join("src")).unwrap();
    let crates = root().join("crates").canonicalize().unwrap();
    let crates = crates.display();
    let manifest = format!(
        "[package]\nname = \"random-interface\"\nedition = \"2024\"\n[dependencies]\nslipway-mach = {{ path = '{crates}/mach' }}\n\
         slipway-libmach = {{ path = '{crates}/libmach' }}\n         [profile.dev]\ndebug = false\n[workspace]\n"
    );
    std::fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let routines = prop::collection::vec(prop::collection::vec((kind(), any::<bool>()), 1..7), 12);
    let config = Config { cases: 3, failure_persistence: None, max_shrink_iters: 4, ..Config::default() };
    TestRunner::new(config)
        .run(&routines, |routines| {
            round_trip(&dir, &routines);
            Ok(())
        })
        .unwrap();
}
