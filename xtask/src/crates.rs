//! `cargo xtask crates`: the table of crates that ARCHITECTURE.md shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use syn::{Attribute, Item, UseTree, Visibility};

use crate::cargo::cargo;

/// The marker of the table in ARCHITECTURE.md.
const BEGIN: &str = "<!-- cargo xtask crates -->\n";
const END: &str = "<!-- end of cargo xtask crates -->\n";

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write it into ARCHITECTURE.md
    #[arg(long)]
    write: bool,
}

/// One row.
#[derive(Debug, PartialEq, Eq)]
struct Crate {
    name: String,
    lines: usize,
    /// `None` for a program.
    public: Option<usize>,
    /// Dependencies of this repository, without the common prefix.
    ours: Vec<String>,
    others: usize,
}

/// Prints the table, or writes it.
#[expect(clippy::print_stdout, reason = "the table is this task's answer")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let table = table(&crates()?);
    if !options.write {
        print!("{table}");
        return Ok(());
    }
    let path = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path)?;
    let (before, _, after) = parts(&text)?;
    std::fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(())
}

/// The text before the table, the table, and the text after it.
fn parts(text: &str) -> Result<(&str, &str, &str)> {
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (table, after) = rest.split_once(END)?;
        Some((before, table, after))
    });
    parts.context("ARCHITECTURE.md has no markers for the table of crates")
}

fn table(crates: &[Crate]) -> String {
    let mut table = "| crate | lines | public items | of ours | others |\n|---|--:|--:|---|--:|\n".to_owned();
    for one in crates {
        let public = one.public.map_or("program".to_owned(), |count| count.to_string());
        let ours = one.ours.join(", ");
        table += &format!(
            "| {} | {} | {public} | {ours} | {} |\n",
            one.name, one.lines, one.others
        );
    }
    table
}

/// All crates of the workspace, by name.
fn crates() -> Result<Vec<Crate>> {
    let output = cargo()
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut crates = packages.iter().map(read).collect::<Result<Vec<_>>>()?;
    crates.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(crates)
}

fn read(package: &Value) -> Result<Crate> {
    let manifest = Path::new(package["manifest_path"].as_str().context("no manifest")?);
    let sources = manifest.parent().context("no directory")?.join("src");
    let (mut ours, mut others) = (Vec::new(), 0);
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        // The kind of a normal dependency is null; those of builds and tests have names.
        if !dependency["kind"].is_null() {
            continue;
        }
        match short(dependency["name"].as_str().unwrap_or_default()) {
            Some(name) => ours.push(name.to_owned()),
            None => others += 1,
        }
    }
    let library = sources.join("lib.rs");
    let name = package["name"].as_str().context("no name")?;
    Ok(Crate {
        name: short(name).unwrap_or(name).to_owned(),
        lines: lines(&sources)?,
        public: match library.exists() {
            true => Some(Module::read(&library, &sources)?.public()),
            false => None,
        },
        ours,
        others,
    })
}

fn short(name: &str) -> Option<&str> {
    name.strip_prefix("cambium-")
}

/// The lines of all sources: code, comments and unit tests.
fn lines(directory: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            count += lines(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            count += std::fs::read_to_string(&path)?.lines().count();
        }
    }
    Ok(count)
}

/// A module and its items.
#[derive(Debug, Default)]
struct Module {
    /// Public items other than modules.
    items: usize,
    /// Modules whose items are re-exported as a whole.
    globs: Vec<String>,
    /// Submodules, with their visibility.
    modules: BTreeMap<String, (bool, Module)>,
}

impl Module {
    /// Parses a file, and its submodules in a directory.
    fn read(file: &Path, modules: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        Self::of(&parsed.items, modules)
    }

    fn of(items: &[Item], directory: &Path) -> Result<Self> {
        let mut module = Self::default();
        for item in items {
            match item {
                Item::Mod(inner) if !is_of_tests(&inner.attrs) => {
                    let name = inner.ident.to_string();
                    let below = directory.join(&name);
                    let content = match &inner.content {
                        Some((_, items)) => Self::of(items, &below)?,
                        None => {
                            let file = directory.join(format!("{name}.rs"));
                            let file = if file.exists() { file } else { below.join("mod.rs") };
                            Self::read(&file, &below)?
                        }
                    };
                    module.modules.insert(name, (is_public(&inner.vis), content));
                }
                Item::Use(inner) if is_public(&inner.vis) => module.reexport(&inner.tree, ""),
                Item::Macro(inner) if inner.attrs.iter().any(|one| one.path().is_ident("macro_export")) => {
                    module.items += 1;
                }
                other => module.items += usize::from(visibility(other).is_some_and(is_public)),
            }
        }
        Ok(module)
    }

    fn reexport(&mut self, tree: &UseTree, path: &str) {
        match tree {
            UseTree::Path(inner) => {
                // What is named from the root or from here is meant in either case by its last name.
                let name = inner.ident.to_string();
                self.reexport(&inner.tree, &name);
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.reexport(item, path)),
            UseTree::Glob(_) => self.globs.push(path.to_owned()),
            UseTree::Name(_) | UseTree::Rename(_) => self.items += 1,
        }
    }

    /// The number of reachable public items, counted once per path.
    fn public(&self) -> usize {
        let open = self.modules.values().filter(|(public, _)| *public);
        let globs = self.globs.iter().filter_map(|name| self.modules.get(name));
        let below: usize = open.chain(globs).map(|(_, module)| module.public()).sum();
        self.items + below
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    let is_test = |one: &Attribute| {
        one.path().is_ident("cfg") && one.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(is_test)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return None,
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tolerated difference of the documented numbers in percent, so that not every change touches the table.
    const TOLERANCE: usize = 10;

    #[test]
    fn what_others_can_name_is_counted() -> Result<()> {
        let text = "
            pub mod open { pub fn a() {} fn b() {} pub(crate) fn c() {} }
            mod closed { pub struct D; pub enum E {} pub mod inner { pub const F: u8 = 1; } }
            mod globbed { pub trait G {} }
            pub use closed::{D, inner::F as H};
            pub use globbed::*;
            #[cfg(test)] pub mod tests { pub fn z() {} }
            #[macro_export] macro_rules! i { () => {} }
            macro_rules! j { () => {} }
        ";
        // a; D, H; G; i
        let module = Module::of(&syn::parse_file(text)?.items, Path::new("."))?;
        assert_eq!(module.public(), 5);
        Ok(())
    }

    #[test]
    fn the_table_of_crates_is_true() -> Result<()> {
        let text = std::fs::read_to_string(root().join("ARCHITECTURE.md"))?;
        let (_, documented, _) = parts(&text)?;
        let now = table(&crates()?);
        let advice = "`cargo xtask crates --write` writes the table of crates into ARCHITECTURE.md";
        let documented = documented.trim();
        assert_eq!(documented.lines().count(), now.lines().count(), "{advice}");
        for (documented, now) in documented.lines().zip(now.lines()) {
            let cells = documented.split('|').zip(now.split('|'));
            for (documented, now) in cells.map(|(one, other)| (one.trim(), other.trim())) {
                let near = match (documented.parse::<usize>(), now.parse::<usize>()) {
                    (Ok(documented), Ok(now)) => documented.abs_diff(now) <= (now / TOLERANCE).max(5),
                    _ => documented == now,
                };
                assert!(near, "documented: {documented}, now: {now}; {advice}");
            }
        }
        Ok(())
    }
}
