//! The sources as far as their imports go: tokens, modules, `impl` blocks, paths and calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Types whose methods lie in many files. A call of a method that one file defines needs that file.
const SPREAD: [&str; 3] = [INNER, ROUTES, "Process"];
const INNER: &str = "Inner";
/// What [`INNER`] dereferences to.
const ROUTES: &str = "Routes";
/// What such a type is called where it is used.
const VARIABLES: [&str; 2] = ["inner", "guard"];
/// Functions that give one.
const GIVE: [&str; 2] = ["lock", "quietly"];

/// A path of modules from the crate's root.
type Module = Vec<String>;

/// Why one file needs others: the path or the call.
pub type Needs = BTreeMap<String, String>;

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

/// What each file under the folder needs of the others, by their paths from it.
pub fn needs(folder: &Path) -> BTreeMap<String, Needs> {
    let mut texts = BTreeMap::new();
    read(folder, folder, &mut texts);
    let modules: BTreeMap<Module, String> = texts.keys().map(|file| (module_of(file), file.clone())).collect();
    let sources: BTreeMap<&String, Source> =
        texts.iter().map(|(file, text)| (file, Parser::new(module_of(file), text, &modules).parse())).collect();
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
            let below = (ROUTES.to_owned(), call.1.clone());
            let definer = definers.get(call).or_else(|| definers.get(&below).filter(|_| call.0 == INNER));
            if let Some([target]) = definer.map(Vec::as_slice) {
                needs.entry((*target).clone()).or_insert_with(|| format!("{}::{}()", call.0, call.1));
            }
        }
        needs.remove(*file);
        all.insert((*file).clone(), needs);
    }
    all
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
    source: Source,
}

impl<'a> Parser<'a> {
    fn new(module: Module, text: &str, modules: &'a BTreeMap<Module, String>) -> Self {
        let source = Source { module, ..Source::default() };
        Self { tokens: tokens(text), at: 0, blocks: Vec::new(), modules, source }
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
        let spread = |(of, _): &(String, String)| SPREAD.contains(&of.as_str());
        self.source.defines.retain(spread);
        self.source.calls.retain(spread);
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

    /// A method call.
    fn call(&mut self) {
        let of = match self.before(1) {
            "self" => self.implemented(),
            variable if VARIABLES.contains(&variable) => INNER.into(),
            "routes" => ROUTES.into(),
            ")" if self.before(2) == "(" && GIVE.contains(&self.before(3)) => INNER.into(),
            _ => String::new(),
        };
        if matches!(self.token(2), "(" | "::") {
            let call = (of, self.token(1).to_owned());
            self.source.calls.insert(call);
        }
        self.at += 1;
    }
}
