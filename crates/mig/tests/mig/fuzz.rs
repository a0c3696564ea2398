//! No input makes the compiler crash or hang.

use proptest::prelude::*;
use slipway_mig::diagnostics::{Diagnostics, render};
use slipway_mig::emit::{c, rust};
use slipway_mig::source::Source;
use slipway_mig::{check, syntax};

/// Reads a text, shows what is to be said of it, and generates if it is correct.
fn compile(text: &str) {
    let source = Source::new("fuzz.defs", text.to_owned());
    let mut diagnostics = Diagnostics::default();
    let file = syntax::parse(&source, None, &mut diagnostics);
    let interface = check::check(&file, &source, &mut diagnostics);
    let shown = render(&diagnostics, &source, false);
    assert_eq!(shown.is_empty(), diagnostics.sorted().is_empty());
    if let Some(interface) = interface {
        let options = c::Options::default();
        assert!(c::user::<c::Typed>(&interface, &options).ends_with('\n'));
        assert!(c::server(&interface, &options).ends_with('\n'));
        let mut unfit = Diagnostics::default();
        c::darwin::check(&interface, &mut unfit);
        if unfit.errors() == 0 {
            assert!(c::user::<c::darwin::Darwin>(&interface, &options).ends_with('\n'));
            assert!(c::darwin::server(&interface, &options).ends_with('\n'));
        }
        rust::check(&interface, true, &mut diagnostics);
        assert!(rust::module(&interface, rust::Halves::Both, true).ends_with('\n'));
    }
}

const WORDS: &[&str] = &[
    "subsystem",
    "routine",
    "simpleroutine",
    "type",
    "skip",
    "import",
    "in",
    "out",
    "inout",
    "array",
    "struct",
    "of",
    "c_string",
    "^",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ";",
    ":",
    ",",
    "=",
    "|",
    "*",
    "+",
    "-",
    "/",
    "<a.h>",
    "\"s\"",
    "0",
    "1",
    "4294967295",
    "99999999999999999999",
    "name",
    "server",
    "int",
    "char",
    "p",
    "MACH_MSG_TYPE_COPY_SEND",
    "MACH_MSG_TYPE_STRING_C",
    "polymorphic",
    "ctype",
    "intran",
    "destructor",
    "dealloc",
    "countinout",
    "servercopy",
    "samecount",
    "waittime",
    "serverprefix",
    "x",
    "y",
    "\n# 3 \"other.defs\"\n",
    "\n",
    "/*",
    "*/",
    "//",
    "é",
    "requestport",
    "sreplyport",
    "msgoption",
    "userprefix",
    "retcode",
];

/// A correct file to take apart.
const GOOD: &str = "subsystem good 100; type p = MACH_MSG_TYPE_COPY_SEND ctype: mach_port_t; type s = c_string[*:64];
type a = array[*:10] of int; type u = array[] of int; type f = ^array[] of int; type st = struct { int x; char y; };
type four = struct[4] of short; routine one(server : p; in x : int; out y : a, countinout; inout z : s; w : u, dealloc[]; v : f, dealloc);
serverprefix s_; simpleroutine two(requestport server : p; x : st; y : four); skip; routine three(server : p; sreplyport r : p; out q : p);";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,300}") {
        compile(&text);
    }

    #[test]
    fn any_words_are_answered(words in prop::collection::vec(prop::sample::select(WORDS), 0..80)) {
        compile(&words.join(" "));
    }

    #[test]
    fn a_damaged_file_is_answered(changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(WORDS), 0..3u8), 1..6)) {
        let mut words: Vec<&str> = GOOD.split_inclusive([' ', ';', ':', '[', ']', '(', ')']).collect();
        for (at, word, what) in changes {
            let at = at.index(words.len());
            match what {
                0 => { words.remove(at); }
                1 => words.insert(at, word),
                _ => words[at] = word,
            }
            if words.is_empty() {
                words.push(";");
            }
        }
        compile(&words.concat());
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for (open, close) in [("(", ")"), ("array[1] of ", ""), ("^", ""), ("1+", "")] {
        compile(&format!("subsystem s {}1{};", open.repeat(20_000), close.repeat(20_000)));
        compile(&format!("type t = {}int{};", open.repeat(20_000), close.repeat(20_000)));
        compile(&format!("type t = array[{}1{}] of int;", open.repeat(20_000), close.repeat(20_000)));
    }
}

#[test]
fn the_file_to_take_apart_is_correct() {
    let source = Source::new("good.defs", GOOD.to_owned());
    let mut diagnostics = Diagnostics::default();
    let file = syntax::parse(&source, None, &mut diagnostics);
    assert!(check::check(&file, &source, &mut diagnostics).is_some(), "{}", render(&diagnostics, &source, false));
}
