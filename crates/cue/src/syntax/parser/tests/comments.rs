use super::read;
use crate::syntax::ast::{Comment, CommentPosition, Declaration, Element, ExprKind, Field, File};

fn field<'file>(file: &'file File<'_>, name: &str) -> &'file Field<'file> {
    find(&file.declarations, name).unwrap_or_else(|| panic!("no field {name}"))
}

fn find<'file>(declarations: &'file [Declaration<'_>], name: &str) -> Option<&'file Field<'file>> {
    declarations.iter().find_map(|declaration| match declaration {
        Declaration::Field(field) => {
            let label = format!("{:?}", field.label);
            if label.contains(&format!("{name:?}")) {
                return Some(&**field);
            }
            match &field.value.kind {
                ExprKind::Struct(literal) => find(&literal.declarations, name),
                _ => None,
            }
        }
        _ => None,
    })
}

fn show(comments: &[Comment]) -> Vec<String> {
    let mark = |position| match position {
        CommentPosition::Doc => "doc",
        CommentPosition::Line => "line",
        CommentPosition::Detached => "detached",
    };
    comments
        .iter()
        .map(|comment| {
            format!(
                "{}:{}",
                mark(comment.position),
                comment.lines().collect::<Vec<_>>().join("|")
            )
        })
        .collect()
}

#[test]
fn above_beside_and_apart() {
    let file = read(
        "// file\n\n// one\n// two\na: 1 // beside\n\n// apart\n\n// +key=b\nb: 2, // after a comma\nc: 3",
    )
    .unwrap();
    assert_eq!(
        show(&field(&file, "a").comments),
        ["detached: file", "doc: one| two", "line: beside"]
    );
    assert_eq!(
        show(&field(&file, "b").comments),
        ["detached: apart", "doc: +key=b", "line: after a comma"]
    );
    assert!(field(&file, "c").comments.is_empty());
}

#[test]
fn of_nested_labels_to_the_innermost_name() {
    let file = read("// doc\na: b: c: 1 // line\n// pattern\nd: [string]: 1").unwrap();
    assert!(field(&file, "a").comments.is_empty());
    assert_eq!(show(&field(&file, "c").comments), ["doc: doc", "line: line"]);
    assert_eq!(show(&field(&file, "d").comments), ["doc: pattern"]);
}

#[test]
fn inside_brackets() {
    let file =
        read("a: { // after brace\n\t// doc\n\tb: 1\n\t// before brace\n}\nc: {\n\t// alone\n}").unwrap();
    assert!(field(&file, "a").comments.is_empty());
    assert_eq!(
        show(&field(&file, "b").comments),
        ["detached: after brace", "doc: doc", "detached: before brace"]
    );
    assert_eq!(show(&field(&file, "c").comments), ["detached: alone"]);
}

#[test]
fn of_a_value_that_stands_apart() {
    let file = read("a: // why\n\t1\nb:\n\t// because\n\t{c: 1}").unwrap();
    assert_eq!(show(&field(&file, "a").comments), ["line: why"]);
    assert_eq!(show(&field(&file, "b").comments), ["detached: because"]);
    assert!(field(&file, "c").comments.is_empty());
}

#[test]
fn of_elements() {
    let file = read("a: [\n\t// one\n\t1, // first\n\t2, // second\n\t// end\n]").unwrap();
    let ExprKind::List(list) = &field(&file, "a").value.kind else {
        panic!("not a list")
    };
    let comments: Vec<_> = list
        .elements
        .iter()
        .map(|element| match element {
            Element::Value(value) => show(&value.comments),
            Element::Comprehension(comprehension) => show(&comprehension.comments),
        })
        .collect();
    assert_eq!(
        comments,
        [
            vec!["doc: one", "line: first"],
            vec!["line: second", "detached: end"]
        ]
    );
}

#[test]
fn of_other_declarations() {
    let file =
        read("// let\nlet X = 1 // x\n// embedded\n{a: X} // e\n// if\nif true {b: 1} // c\n").unwrap();
    let comments: Vec<_> = file
        .declarations
        .iter()
        .map(|declaration| match declaration {
            Declaration::Let(clause) => show(&clause.comments),
            Declaration::Embedding(embedding) => show(&embedding.comments),
            Declaration::Comprehension(comprehension) => show(&comprehension.comments),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        comments,
        [
            vec!["doc: let", "line: x"],
            vec!["doc: embedded", "line: e"],
            vec!["doc: if", "line: c"]
        ]
    );
}

#[test]
fn lines_end_where_the_text_says() {
    let file = read("// windows\r\n//two\r\na: 1\r\n").unwrap();
    assert_eq!(show(&field(&file, "a").comments), ["doc: windows|two"]);
}
