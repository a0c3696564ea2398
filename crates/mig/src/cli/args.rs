//! Options. They are words behind one dash, as in every MIG, so they are read here by hand.

use std::ffi::OsString;
use std::iter::Peekable;

use super::Failure;
use crate::emit::c;
use crate::syntax::Grammar;

const HELP: &str = "\
mig: compiles interface definitions (.defs) into stubs
Usage: mig [OPTIONS] FILE.defs...        (- is standard input)

What is written (default: NAMEUser.c, NAMEServer.c, NAME.h for the subsystem NAME; /dev/null for none, - for stdout)
  -user FILE        stubs for callers
  -server FILE      stubs and demultiplexer for the server
  -header FILE      header for callers
  -sheader FILE     header for the server
  -iheader FILE     header that the stubs themselves include
  -dheader FILE     header with numbers and dimported files only
  -defaults FILE    weak default definitions of the server's routines
  -list FILE        for each routine: subsystem, base, name, number, identifiers of request and reply (0: none)
  -i PREFIX         one file of callers' stubs for each routine: PREFIXname.c
  -n                no files but those that are named
  --lang LANGUAGE   c (default) or rust: NAME.rs, a module with client and server; -rust FILE names it,
                    -user FILE and -server FILE write one half
How it is written
  -prefix P         prefix of all routines, of the demultiplexer and of the tables
  -subrprefix P     prefix of the routines of libmach that stubs call
  -maxonstack N     largest message on the stack, in bytes (default 32768)
  -s                a table of routine names in the server's file
  --dialect DIALECT typed (default), or darwin: messages with descriptors and an NDR record, for libmach-darwin; C only
  --trap            stubs that call a server in the same process, and a table of the server's routines for them
What is read
  -D -U -I -include -isystem -W -f -m -O -g -std -ansi -w -P -C -pipe ...   for the C preprocessor
  -Wp,OPTION        any other option for the preprocessor
  -cc COMMAND       the C compiler that preprocesses (default: $CPP, $MIGCC, $CC, or cc);
                    cat: the files are preprocessed already
  -grammar G        gnu or osf (default: as the file shows)
  -E                preprocess only
  -check            check only; also for files without a subsystem
  -MD, -MF FILE     write a make rule with the files that were read; -MT, -MQ TARGET name its target
  -v, -q            say more; no warnings and notes
  --help, --version
Accepted without effect: -Q -V -S -N -d -k -K -l -L -x -X -split -novouchers -arch A -target T -migcom P;
  with a note: -t -T -r -R -b -B -typed -untyped -mach_msg2 -max_descrs N -max_reply_descrs N
Exit status: 0 done, 1 errors in the interface, 2 wrong command line, 3 a file or program failed
";

/// What language the stubs are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// Rust.
    Rust,
}

/// What format the messages of the stubs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Each item has a type in front.
    Typed,
    /// Darwin's.
    Darwin,
}

/// The files to write; `None` for the default.
#[derive(Debug, Default)]
pub struct Outputs {
    /// `-user`
    pub user: Option<String>,
    /// `-server`
    pub server: Option<String>,
    /// `-header`
    pub header: Option<String>,
    /// `-sheader`
    pub server_header: Option<String>,
    /// `-iheader`
    pub internal_header: Option<String>,
    /// `-dheader`
    pub definitions: Option<String>,
    /// `-defaults`
    pub defaults: Option<String>,
    /// `-list`
    pub list: Option<String>,
    /// `-i`
    pub individual: Option<String>,
    /// `-rust`
    pub rust: Option<String>,
    /// `-n`: what is not named is not written.
    pub named_only: bool,
}

/// The command line.
#[derive(Debug)]
pub struct Args {
    /// The .defs files.
    pub files: Vec<String>,
    /// What is written.
    pub outputs: Outputs,
    /// How the C text is written.
    pub c: c::Options,
    /// Options for the preprocessor.
    pub cpp: Vec<OsString>,
    /// The command that preprocesses, with its first arguments.
    pub cc: Vec<String>,
    /// The grammar, if it was said.
    pub grammar: Option<Grammar>,
    /// The language of the stubs.
    pub language: Language,
    /// The dialect of their messages.
    pub dialect: Dialect,
    /// `-E`
    pub preprocess_only: bool,
    /// `-check`
    pub check_only: bool,
    /// `-MD`
    pub dependencies: bool,
    /// `-MF`
    pub dependency_file: Option<String>,
    /// `-MT` and `-MQ`: targets of the rule in place of what was written.
    pub dependency_targets: Vec<String>,
    /// Options for the preprocessor that are about the rule.
    pub dependency_options: Vec<OsString>,
    /// `-v`
    pub verbose: bool,
    /// `-q`
    pub quiet: bool,
    /// What to tell the user beside the interface.
    pub notes: Vec<String>,
    information: Option<String>,
}

/// Preprocessor options whose operand is the next word, if it is not in the same one.
const WITH_OPERAND: [&str; 10] =
    ["-D", "-U", "-I", "-include", "-imacros", "-isystem", "-idirafter", "-iquote", "-isysroot", "-Xpreprocessor"];

/// Other options that are passed on.
const PASSED_ON: [&str; 7] = ["-undef", "-ansi", "-w", "-P", "-C", "-CC", "-pipe"];

/// Beginnings of others.
const FAMILIES_PASSED_ON: [&str; 9] = ["-W", "-f", "-m", "-O", "-g", "-std", "-nostd", "-traditional", "-pedantic"];

/// Options of other compilers that have no meaning here.
const IGNORED: [&str; 14] = ["-Q", "-V", "-S", "-N", "-d", "-k", "-K", "-l", "-L", "-x", "-X", "-c", "-split", "-novouchers"];

/// The same, where the output may differ from what was expected. The second word is what is expected, and what is made.
const NOTED: [(&str, &str); 11] = [
    ("-t", "requests are always sent by mach_msg"),
    ("-T", "a trap of a kernel is none of this library's; --trap is for calls within a process"),
    ("-r", "request and reply are one call of mach_msg anyway"),
    ("-R", "request and reply are one call of mach_msg"),
    ("-b", "it is of other compilers"),
    ("-B", "it is of other compilers"),
    ("-typed", "messages are typed anyway"),
    ("-untyped", "messages are typed; --dialect darwin has those of Darwin"),
    ("-mach_msg2", "stubs call mach_msg"),
    ("-max_descrs", "there is no limit"),
    ("-max_reply_descrs", "there is no limit"),
];

impl Args {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// [`Failure::Usage`] with what is wrong.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        let named = |name| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
        let cc = ["CPP", "MIGCC", "CC"].into_iter().find_map(named).unwrap_or_else(|| "cc".to_owned());
        let mut args = Args {
            files: Vec::new(),
            outputs: Outputs::default(),
            c: c::Options::default(),
            cpp: Vec::new(),
            cc: split(&cc),
            grammar: None,
            language: Language::C,
            dialect: Dialect::Typed,
            preprocess_only: false,
            check_only: false,
            dependencies: false,
            dependency_file: None,
            dependency_targets: Vec::new(),
            dependency_options: Vec::new(),
            verbose: false,
            quiet: false,
            notes: Vec::new(),
            information: None,
        };
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            args.word(word, &mut words)?;
        }
        // What is read beside it is the text: `mig -cc cat - /dev/null` is said for compilers that need a file.
        if args.files.len() > 1 {
            args.files.retain(|file| file != "/dev/null");
        }
        if args.files.is_empty() && args.information.is_none() {
            return Err(usage("no .defs file was given"));
        }
        if args.dialect == Dialect::Darwin && (args.language == Language::Rust || args.c.trap) {
            return Err(usage("--dialect darwin goes with C stubs only, and not with --trap"));
        }
        if args.files.len() > 1 && args.outputs.any() {
            return Err(usage("options that name an output go with one .defs file only"));
        }
        Ok(args)
    }

    /// Text to print instead of compiling.
    pub fn information(&self) -> Option<&str> {
        self.information.as_deref()
    }

    fn word(&mut self, word: OsString, rest: &mut Peekable<impl Iterator<Item = OsString>>) -> Result<(), Failure> {
        let Some(text) = word.to_str().map(str::to_owned) else {
            return Err(usage(&format!("{} is not UTF-8", word.to_string_lossy())));
        };
        if text == "-" || !text.starts_with('-') {
            self.files.push(text);
            return Ok(());
        }
        if let Some((option, why)) = NOTED.into_iter().find(|(option, _)| *option == text) {
            self.notes.push(format!("{option} has no effect: {why}"));
            if option.starts_with("-max_") {
                rest.next().ok_or_else(|| needs_operand(&text))?;
            }
            return Ok(());
        }
        if text == "-x" && rest.peek().is_some_and(|language| ["c", "none", "assembler-with-cpp"].iter().any(|l| language == l)) {
            rest.next();
            return Ok(());
        }
        if let Some(option) = WITH_OPERAND.iter().find(|o| text.starts_with(**o) && (text.len() == o.len() || o.len() == 2)) {
            let alone = text.len() == option.len();
            self.cpp.push(word);
            if alone {
                self.cpp.push(rest.next().ok_or_else(|| needs_operand(&text))?);
            }
            return Ok(());
        }
        let mut operand = || -> Result<String, Failure> {
            let word = rest.next().ok_or_else(|| needs_operand(&text))?;
            word.into_string().map_err(|w| usage(&format!("{} is not UTF-8", w.to_string_lossy())))
        };
        match text.as_str() {
            "--help" | "-help" | "-h" => self.information = Some(HELP.to_owned()),
            "--version" | "-version" => self.information = Some(format!("mig (Slipway) {}\n", env!("CARGO_PKG_VERSION"))),
            "-user" => self.outputs.user = Some(operand()?),
            "-server" => self.outputs.server = Some(operand()?),
            "-header" => self.outputs.header = Some(operand()?),
            "-sheader" => self.outputs.server_header = Some(operand()?),
            "-iheader" => self.outputs.internal_header = Some(operand()?),
            "-dheader" => self.outputs.definitions = Some(operand()?),
            "-defaults" => self.outputs.defaults = Some(operand()?),
            "-list" => self.outputs.list = Some(operand()?),
            "-i" => self.outputs.individual = Some(operand()?),
            "-rust" => {
                self.outputs.rust = Some(operand()?);
                self.language = Language::Rust;
            }
            "--lang" | "-lang" => self.language = language(&operand()?)?,
            "--lang=c" => self.language = Language::C,
            "--lang=rust" => self.language = Language::Rust,
            "--dialect" | "-dialect" => self.dialect = dialect(&operand()?)?,
            "--dialect=typed" => self.dialect = Dialect::Typed,
            "--dialect=darwin" => self.dialect = Dialect::Darwin,
            "-prefix" => self.c.routine_prefix = operand()?,
            "-subrprefix" => self.c.support_prefix = operand()?,
            "-maxonstack" => self.c.stack_limit = number(&operand()?)?,
            "-s" => self.c.symbols = true,
            "--trap" | "-trap" => self.c.trap = true,
            "-cc" | "-cpp" => self.cc = split(&operand()?),
            "-grammar" => self.grammar = Some(grammar(&operand()?)?),
            "-migcom" | "-arch" | "-target" => drop(operand()?),
            "-E" => self.preprocess_only = true,
            "-check" => self.check_only = true,
            "-MD" | "-MMD" => self.dependencies = true,
            "-MF" => self.dependency_file = Some(operand()?),
            "-MT" | "-MQ" => self.dependency_targets.push(operand()?),
            "-MP" | "-MG" => self.dependency_options.push(word),
            "-n" => self.outputs.named_only = true,
            "-v" => self.verbose = true,
            "-q" => self.quiet = true,
            other if IGNORED.contains(&other) => {}
            other if PASSED_ON.contains(&other) || FAMILIES_PASSED_ON.iter().any(|p| other.starts_with(p)) => {
                self.cpp.push(word);
            }
            other => {
                return Err(usage(&format!("unknown option {other}; one for the preprocessor is passed on as -Wp,{other}")));
            }
        }
        Ok(())
    }
}

impl Outputs {
    fn any(&self) -> bool {
        let all = [&self.user, &self.server, &self.header, &self.server_header, &self.internal_header, &self.definitions];
        all.into_iter().chain([&self.defaults, &self.list, &self.rust]).any(Option::is_some)
    }
}

fn usage(message: &str) -> Failure {
    Failure::Usage(format!("{message}; `mig --help` lists the options"))
}

fn needs_operand(option: &str) -> Failure {
    usage(&format!("{option} needs an operand"))
}

fn split(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

fn number(text: &str) -> Result<u32, Failure> {
    text.parse().map_err(|_| usage(&format!("`{text}` is no number of bytes")))
}

fn language(text: &str) -> Result<Language, Failure> {
    match text {
        "c" => Ok(Language::C),
        "rust" => Ok(Language::Rust),
        _ => Err(usage(&format!("`{text}` is no language; there are c and rust"))),
    }
}

fn dialect(text: &str) -> Result<Dialect, Failure> {
    match text {
        "typed" => Ok(Dialect::Typed),
        "darwin" => Ok(Dialect::Darwin),
        _ => Err(usage(&format!("`{text}` is no dialect; there are typed and darwin"))),
    }
}

fn grammar(text: &str) -> Result<Grammar, Failure> {
    match text {
        "gnu" => Ok(Grammar::Gnu),
        "osf" | "apple" => Ok(Grammar::Osf),
        _ => Err(usage(&format!("`{text}` is no grammar; there are gnu and osf"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Args, Failure> {
        Args::parse(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_of_other_compilers_are_taken() {
        let line = "-DX=1 -I inc -I. -q -V -arch x86_64 -cc gcc\u{20}-user u.c -server /dev/null -subrprefix __ -MD -Wall a.defs \
                    -x c -w -P -C -g -O2 -MP -MT t -ansi -traditional -pipe -x -Xpreprocessor -H";
        let args = parse(line).unwrap();
        assert_eq!(args.files, ["a.defs"]);
        let passed_on = "-DX=1 -I inc -I. -Wall -w -P -C -g -O2 -ansi -traditional -pipe -Xpreprocessor -H";
        assert_eq!(args.cpp, passed_on.split(' ').collect::<Vec<_>>());
        assert_eq!((args.notes.len(), args.dependency_targets.len(), args.dependency_options.len()), (0, 1, 1));
        assert_eq!((args.outputs.user.as_deref(), args.c.support_prefix.as_str()), (Some("u.c"), "__"));
        assert!(args.dependencies);
    }

    #[test]
    fn options_that_mean_something_elsewhere_are_noted() {
        let args = parse("-t -T -r -R -b -B -typed -untyped -mach_msg2 -max_descrs 3 -max_reply_descrs 4 a.defs").unwrap();
        assert_eq!(args.files, ["a.defs"]);
        assert_eq!(args.notes.len(), NOTED.len());
        assert!(args.notes.iter().all(|note| note.contains(" has no effect: ")), "{:?}", args.notes);
    }

    #[test]
    fn an_empty_file_beside_the_text_adds_nothing() {
        let args = parse("-n -cc cat - /dev/null -user u.c").unwrap();
        assert_eq!((args.files, args.cc, args.outputs.named_only), (vec!["-".to_owned()], vec!["cat".to_owned()], true));
    }

    #[test]
    fn a_wrong_command_line_says_why() {
        for (line, why) in [
            ("", "no .defs file was given"),
            ("-frobnicate -zzz a.defs", "unknown option -zzz; one for the preprocessor is passed on as -Wp,-zzz"),
            ("-max_descrs", "-max_descrs needs an operand"),
            ("a.defs -user", "-user needs an operand"),
            ("-maxonstack much a.defs", "`much` is no number of bytes"),
            ("-user u.c a.defs b.defs", "one .defs file only"),
        ] {
            let failure = parse(line).expect_err(line);
            assert_eq!(failure.code(), 2);
            assert!(failure.to_string().contains(why), "{failure}");
        }
    }
}
