//! Links between the documents: every relative link resolves to a file, and every `#anchor` to a heading of it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::documents::{markdown, root};

#[test]
fn every_relative_link_resolves() {
    let mut anchors = BTreeMap::new();
    let mut broken = Vec::new();
    let pages = markdown();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for (line, link) in links(&text) {
            if let Err(reason) = resolve(page, &link, &mut anchors) {
                broken.push(format!("{}:{line}: {link}: {reason}", page.display()));
            }
        }
    }
    assert_eq!(broken, [] as [&str; 0], "links that do not resolve");
}

/// Every document under `docs/` can be reached from its index page.
#[test]
fn the_index_links_to_every_page() {
    let text = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let linked: Vec<PathBuf> = links(&text)
        .into_iter()
        .map(|(_, link)| normal(&Path::new("docs").join(link.split('#').next().unwrap_or_default())))
        .collect();
    let missing: Vec<PathBuf> = markdown()
        .into_iter()
        .filter(|page| page.starts_with("docs") && !linked.contains(page))
        .filter(|page| page != Path::new("docs/README.md"))
        .collect();
    assert_eq!(missing, [] as [&Path; 0], "docs/README.md does not link to them");
}

fn resolve(
    page: &Path,
    link: &str,
    anchors: &mut BTreeMap<PathBuf, Vec<String>>,
) -> Result<(), &'static str> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => normal(&page.parent().unwrap_or(Path::new("")).join(file)),
    };
    if !root().join(&target).exists() {
        return Err("no such file");
    }
    if anchor.is_empty() {
        return Ok(());
    }
    let known = anchors.entry(target).or_insert_with_key(|target| {
        let text = std::fs::read_to_string(root().join(target)).unwrap_or_default();
        headings(&text)
    });
    match known.iter().any(|known| known == anchor) {
        true => Ok(()),
        false => Err("no such heading"),
    }
}

/// A path without `..` and `.`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// The lines of a page outside of fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The links of a page to other files of the repository, or inside of it.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for rest in line.split("](").skip(1) {
            let link = rest.split(')').next().unwrap_or_default();
            if !link.contains("://") && !link.starts_with("mailto:") {
                links.push((number, link.to_owned()));
            }
        }
    }
    links
}

/// The anchors that GitHub gives to the headings of a page.
fn headings(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter.to_ascii_lowercase()),
            _ => None,
        });
        let anchor: String = kept.collect();
        let earlier = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(match earlier {
            0 => anchor,
            earlier => format!("{anchor}-{earlier}"),
        });
    }
    anchors
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# `cambium up`\n\n## Go's `cue`, v0.14.1\n```sh\n# no heading\n```\n## Who? Me\n## Who? Me\n";
    assert_eq!(
        headings(text),
        ["cambium-up", "gos-cue-v0141", "who-me", "who-me-1"]
    );
}
