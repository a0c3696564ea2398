//! The sources as far as their imports go: tokens, modules, `impl` blocks, paths and calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};

/// A crate's types whose methods lie in several files. A call of a method that one file defines needs that file.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The types.
    pub types: &'static [&'static str],
    /// Variables that hold one, and functions that give one; and the type.
    pub values: &'static [(&'static str, &'static str)],
    /// A type, and the one that it dereferences to.
    pub derefs: Option<(&'static str, &'static str)>,
}

/// A path of modules from the crate's root.
type Module = Vec<String>;

/// Why one file needs others: the path or the call.
pub type Needs = BTreeMap<String, String>;

/// What each file of a crate needs of the others, by their paths from the folder of its sources.
pub type Files = BTreeMap<String, Needs>;

/// One file.
#[derive(Default)]
struct Source {
    module: Module,
    /// Names that stand for modules in it.
    aliases: BTreeMap<String, Module>,
    /// Every path in it, from the root.
    paths: Vec<Module>,
    /// Methods of types that are spread: the type, and the method.
    defines: BTreeSet<(String, String)>,
    calls: BTreeSet<(String, String)>,
}

/// Reads the sources of the crate whose manifest is in that folder.
pub fn needs(manifest_dir: &str, spread: Spread) -> Files {
    let folder = &Path::new(manifest_dir).join("src");
    let mut texts = BTreeMap::new();
    read(folder, folder, &mut texts);
    let modules: BTreeMap<Module, String> = texts.keys().map(|file| (module_of(file), file.clone())).collect();
    let sources: BTreeMap<&String, Source> =
        texts.iter().map(|(file, text)| (file, Parser::new(module_of(file), text, &modules, spread).parse())).collect();
    let mut definers: BTreeMap<&(String, String), Vec<&String>> = BTreeMap::new();
    for (file, source) in &sources {
        source.defines.iter().for_each(|method| definers.entry(method).or_default().push(file));
    }
    let mut all = BTreeMap::new();
    for (file, source) in &sources {
        let mut needs = Needs::new();
        for path in &source.paths {
            if let Some(target) = (1..=path.len()).rev().find_map(|len| modules.get(&path[..len])) {
                needs.entry(target.clone()).or_insert_with(|| path.join("::"));
            }
        }
        for call in &source.calls {
            let below = spread.derefs.filter(|(of, _)| call.0 == *of).map(|(_, to)| (to.to_owned(), call.1.clone()));
            let definer = definers.get(call).or_else(|| definers.get(&below?));
            if let Some([target]) = definer.map(Vec::as_slice) {
                needs.entry((*target).clone()).or_insert_with(|| format!("{}::{}()", call.0, call.1));
            }
        }
        needs.remove(*file);
        all.insert((*file).clone(), needs);
    }
    all
}

/// The files that a file needs, directly or by others.
fn reach<'a>(all: &'a Files, from: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(all[file].keys().map(String::as_str).filter(|needed| found.insert(*needed)));
    }
    found
}

/// The files that need each other in a circle, and why each needs the next: empty if there are none.
pub fn cycles(all: &Files) -> String {
    let reached: BTreeMap<&str, BTreeSet<&str>> = all.keys().map(|file| (file.as_str(), reach(all, file))).collect();
    let cycle =
        |file: &str| -> BTreeSet<&str> { reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect() };
    let cycles: BTreeSet<BTreeSet<&str>> = all.keys().map(|file| cycle(file)).filter(|cycle| !cycle.is_empty()).collect();
    let mut wrong = String::new();
    for cycle in &cycles {
        let _ = writeln!(wrong, "{} files need each other:", cycle.len());
        for file in cycle {
            let within = all[*file].iter().filter(|(needed, _)| cycle.contains(needed.as_str()));
            wrong.extend(within.map(|(needed, why)| format!("    {file} needs {needed}: {why}\n")));
        }
    }
    wrong
}

fn read(root: &Path, folder: &Path, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                read(root, &path, texts);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "lib.rs" {
            let file = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
            texts.insert(file, fs::read_to_string(&path).expect("a source"));
        }
    }
}

fn module_of(file: &str) -> Module {
    let name = file.trim_end_matches(".rs");
    name.strip_suffix("/mod").unwrap_or(name).split('/').map(str::to_owned).collect()
}

/// Identifiers, `::`, and single characters; no comments, literals or lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\n');
    let find = |from: usize, end: &str| {
        let end: Vec<char> = end.chars().collect();
        (from..chars.len()).find(|i| chars[*i..].starts_with(&end)).map_or(chars.len(), |i| i + end.len())
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut list, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let rest = || -> String { chars[i..].iter().take(3).collect() };
        match at(i) {
            '/' if at(i + 1) == '/' => i = find(i, "\n"),
            '/' if at(i + 1) == '*' => i = find(i, "*/"),
            'r' if rest().starts_with("r\"") => i = find(i + 2, "\""),
            'r' if rest() == "r#\"" => i = find(i + 3, "\"#"),
            '"' => {
                i += 1;
                while i < chars.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            '\'' if at(i + 1) == '\\' => i = find(i + 3, "'"),
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i += 1,
            ':' if at(i + 1) == ':' => {
                list.push("::".into());
                i += 2;
            }
            c if is_word(c) => {
                let end = (i..chars.len()).find(|j| !is_word(chars[*j])).unwrap_or(chars.len());
                list.push(chars[i..end].iter().collect());
                i = end;
            }
            c => {
                if !c.is_whitespace() {
                    list.push(c.into());
                }
                i += 1;
            }
        }
    }
    list
}

/// What a brace opened.
enum Block {
    Module(String),
    Impl(String),
    Other,
}

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    blocks: Vec<Block>,
    modules: &'a BTreeMap<Module, String>,
    spread: Spread,
    source: Source,
}

impl<'a> Parser<'a> {
    fn new(module: Module, text: &str, modules: &'a BTreeMap<Module, String>, spread: Spread) -> Self {
        let source = Source { module, ..Source::default() };
        Self { tokens: tokens(text), at: 0, blocks: Vec::new(), modules, spread, source }
    }

    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn before(&self, back: usize) -> &str {
        self.at.checked_sub(back).and_then(|i| self.tokens.get(i)).map_or("", String::as_str)
    }

    fn starts(&self, tokens: &[&str]) -> bool {
        tokens.iter().enumerate().all(|(i, token)| self.token(i) == *token)
    }

    fn parse(mut self) -> Source {
        while self.at < self.tokens.len() {
            if self.starts(&["#", "[", "cfg", "(", "test", ")", "]"]) {
                self.skip_item();
                continue;
            }
            match self.token(0) {
                "use" if self.token(1) != "<" => self.import(),
                "mod" if self.token(2) == "{" => {
                    self.blocks.push(Block::Module(self.token(1).to_owned()));
                    self.at += 3;
                }
                "impl" if !self.blocks.iter().any(|block| !matches!(block, Block::Module(_))) => self.implement(),
                "{" => {
                    self.blocks.push(Block::Other);
                    self.at += 1;
                }
                "}" => {
                    self.blocks.pop();
                    self.at += 1;
                }
                "fn" if matches!(self.blocks.last(), Some(Block::Impl(_))) => {
                    let method = (self.implemented(), self.token(1).to_owned());
                    self.source.defines.insert(method);
                    self.at += 2;
                }
                "." => self.call(),
                _ if self.token(1) == "::" && self.before(1) != "::" => self.path(),
                _ => self.at += 1,
            }
        }
        let is_spread = |(of, _): &(String, String)| self.spread.types.contains(&of.as_str());
        self.source.defines.retain(is_spread);
        self.source.calls.retain(is_spread);
        self.source
    }

    /// Skips an attribute, and the item that it belongs to.
    fn skip_item(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            let token = self.token(0).to_owned();
            self.at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && (token == "}" || token == ";") {
                return;
            }
        }
    }

    /// The type of the innermost `impl` block.
    fn implemented(&self) -> String {
        let of = |block: &Block| if let Block::Impl(of) = block { Some(of.clone()) } else { None };
        self.blocks.iter().rev().find_map(of).unwrap_or_default()
    }

    fn implement(&mut self) {
        let (mut of, mut depth) = (String::new(), 0);
        self.at += 1;
        while !matches!(self.token(0), "{" | "") {
            let token = self.token(0).to_owned();
            match token.as_str() {
                "<" => depth += 1,
                ">" if self.before(1) != "-" => depth -= 1,
                // The type is the last word before the block that is no argument of another.
                word if depth == 0 && word != "for" && word.starts_with(char::is_alphabetic) => of = token,
                _ => {}
            }
            if self.token(1) == "::" && self.before(1) != "::" {
                self.path();
            } else {
                self.at += 1;
            }
        }
        self.blocks.push(Block::Impl(of));
        self.at += 1;
    }

    /// The path from the root, if it begins with something of this crate.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let mut base = self.source.module.clone();
        base.extend(
            self.blocks.iter().filter_map(|block| if let Block::Module(name) = block { Some(name.clone()) } else { None }),
        );
        let mut rest = path;
        let first = path.first()?;
        match first.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "super" | "self" => {
                while let Some(step) = rest.first().filter(|step| ["super", "self"].contains(&step.as_str())) {
                    if step == "super" {
                        base.pop();
                    }
                    rest = &rest[1..];
                }
            }
            _ => {
                let mut child = self.source.module.clone();
                child.push(first.clone());
                let known = self.modules.contains_key(&child).then_some(child);
                base = known.or_else(|| self.source.aliases.get(first).cloned())?;
                rest = &rest[1..];
            }
        }
        Some([base, rest.to_vec()].concat())
    }

    /// A path in an expression or a type.
    fn path(&mut self) {
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" && self.token(1).starts_with(|c: char| c.is_alphabetic() || c == '_') {
            path.push(self.token(1).to_owned());
            self.at += 2;
        }
        if let [.., of, function] = &path[..] {
            let of = if of == "Self" { self.implemented() } else { of.clone() };
            self.source.calls.insert((of, function.clone()));
        }
        self.source.paths.extend(self.absolute(&path));
    }

    fn import(&mut self) {
        self.at += 1;
        self.tree(&[]);
    }

    /// One tree of a `use`, below what was read before.
    fn tree(&mut self, above: &[String]) {
        let mut path = above.to_vec();
        loop {
            match self.token(0) {
                "{" => {
                    self.at += 1;
                    while self.token(0) != "}" && self.at < self.tokens.len() {
                        self.tree(&path);
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "::" => self.at += 1,
                "self" if !path.is_empty() => self.at += 1,
                "," | "}" | ";" | "as" | "" => break,
                word => {
                    path.push(word.to_owned());
                    self.at += 1;
                }
            }
        }
        let mut name = path.last().cloned();
        if self.token(0) == "as" {
            name = Some(self.token(1).to_owned());
            self.at += 2;
        }
        if let Some(path) = self.absolute(&path) {
            if let (true, Some(name)) = (self.modules.contains_key(&path), name) {
                self.source.aliases.insert(name, path.clone());
            }
            self.source.paths.push(path);
        }
    }

    /// The type of a variable, or of what a function gives; empty if it is not known.
    fn type_of(&self, value: &str) -> String {
        self.spread.values.iter().find(|(known, _)| *known == value).map_or_else(String::new, |(_, of)| (*of).to_owned())
    }

    /// A method call.
    fn call(&mut self) {
        let of = match self.before(1) {
            "self" => self.implemented(),
            ")" if self.before(2) == "(" => self.type_of(self.before(3)),
            variable => self.type_of(variable),
        };
        if matches!(self.token(2), "(" | "::") {
            let call = (of, self.token(1).to_owned());
            self.source.calls.insert(call);
        }
        self.at += 1;
    }
}
