//! `docs/demo.svg` shows what `cambium up --demo` prints, as its snapshot has it.

use crate::documents::root;

/// What the tests of the program recorded.
const STORY: &str = "crates/cambium/tests/it/snapshots/it__commands__the_demo_tells_the_story.snap";

#[test]
fn the_picture_of_the_demo_shows_what_it_prints() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let story: Vec<String> = read(STORY).lines().map(steady).collect();
    let picture = read("docs/demo.svg");
    let shown: Vec<String> = picture
        .lines()
        .filter(|line| line.starts_with("<text "))
        .map(|line| steady(&text(line)))
        .collect();
    assert_eq!(shown.first().unwrap(), "$ cambium up --demo");
    assert!(shown.len() > 20, "{shown:?}");
    let others: Vec<&String> = shown[1..].iter().filter(|line| !story.contains(line)).collect();
    assert_eq!(
        others,
        [] as [&String; 0],
        "`cargo xtask demo` draws docs/demo.svg"
    );
}

/// The text of an element, without its markup.
fn text(element: &str) -> String {
    let mut text = String::new();
    for part in element.split('<') {
        text.push_str(part.split_once('>').map_or("", |(_, text)| text));
    }
    text.replace("&lt;", "<").replace("&amp;", "&")
}

/// A line without its age, and with single spaces.
fn steady(line: &str) -> String {
    let is_age = |word: &str| {
        let digits = word.strip_suffix('s').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let words = line.split_whitespace().map(|word| match is_age(word) {
        true => "<age>",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}
