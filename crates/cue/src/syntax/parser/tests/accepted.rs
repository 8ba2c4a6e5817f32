use super::check;

#[test]
fn package_and_imports() {
    check(&[
        ("", ""),
        ("\u{feff}package main\n", "package main"),
        (
            "package main\nimport \"strings\"\nimport l \"list\"\na: 1",
            "package main; import strings; import l=list; a: 1",
        ),
        (
            "import (\n\t\"strings\"\n\tl \"list\"\n)\n",
            "import strings; import l=list",
        ),
        ("import (\"a.b/c@v1:d\", \"e\")", "import a.b/c@v1:d; import e"),
        ("import ()\na: 1", "a: 1"),
        (
            "@if(prod)\npackage p\n@tag(x)\nimport \"y\"\n",
            "package p; import y; @if[prod]; @tag[x]",
        ),
    ]);
}

#[test]
fn fields_and_labels() {
    check(&[
        ("a: 1, b: 2", "a: 1; b: 2"),
        ("a: b: c: 1", "a: b: c: 1"),
        ("a: b?: c!: 1", "a: b?: c!: 1"),
        ("\"a b\": 1\n'c': 2\n#\"d\"#: 3", "\"a b\": 1; \"c\": 2; \"d\": 3"),
        ("\"x-\\(y)\": 1", "interpolated ~\"x-\"|y~: 1"),
        ("(x): 1\n(x + y)?: 2", "dynamic(x): 1; dynamic((x Add y))?: 2"),
        ("[string]: int\n[X=\"a\"]: X", "[string]: int; [X=\"a\"]: X"),
        ("X=[string]: X", "X=[string]: X"),
        (
            "X=a: 1\nY=\"b\": 2\nZ=(c): 3",
            "X=a: 1; Y=\"b\": 2; Z=dynamic(c): 3",
        ),
        ("a: X={b: X}", "a: X={b: X}"),
        ("a: X=b: 1", "a: X=b: 1"),
        ("a: [X=string]: b: 1", "a: [X=string]: b: 1"),
        (
            "_h: 1\n#D: 2\n_#HD: 3\n$x: 4\n#: 5\n_#: 6",
            "_h: 1; #D: 2; _#HD: 3; $x: 4; #: 5; _#: 6",
        ),
        ("größe: 1\nx٣: 2", "größe: 1; x٣: 2"),
        ("a\n: 1\nb :2", "a: 1; b: 2"),
        (
            "a?: 1\nb!: 2\n\"c\"?: 3\n\"d\"!: 4",
            "a?: 1; b!: 2; \"c\"?: 3; \"d\"!: 4",
        ),
    ]);
}

#[test]
fn keywords_are_labels_and_selectors_too() {
    check(&[
        (
            "for: 1, if: 2, in: 3, let: 4, func: 5",
            "for: 1; if: 2; in: 3; let: 4; func: 5",
        ),
        (
            "true: 1, false: 2, null: 3",
            "\"true\": 1; \"false\": 2; \"null\": 3",
        ),
        ("for?: 1\nif!: 2\nlet?: 3", "for?: 1; if!: 2; let?: 3"),
        ("a: x.if.for.let.null.true", "a: x.if.for.let.null.true"),
        ("a: for\nb: in", "a: for; b: in"),
        ("if=a: 1", "if=a: 1"),
        ("a: if: 1", "a: if: 1"),
        ("div: 1\na: div", "div: 1; a: div"),
    ]);
}

#[test]
fn declarations() {
    check(&[
        ("let X = 1\na: X", "let X=1; a: X"),
        ("{a: 1}\nb\n\"c\"\n[d]", "<{a: 1}>; <b>; <\"c\">; <[d]>"),
        ("a: {...}\nb: {c: 1, ...}", "a: {...}; b: {c: 1, ...}"),
        (
            "a: 1 @x(y) @z()\n@w(1,\"b)\",{c[d]})",
            "a: 1 @x[y] @z[]; @w[1,\"b)\",{c[d]}]",
        ),
        ("a: b: 1 @x(y)", "a: b: 1 @x[y]"),
        ("if a {b: 1}", "if a {b: 1}"),
        ("if !a {b: 1}", "if (Not a) {b: 1}"),
        ("for x in y {x}", "for x in y {<x>}"),
        (
            "for k, v in y if k > 1 let z = v {(k): z}",
            "for k,v in y if (k Greater 1) let z=v {dynamic(k): z}",
        ),
        ("for x in y\nif x {z: 1}", "for x in y if x {z: 1}"),
        ("a: {if b {c: 1}, d: 2}", "a: {if b {c: 1}, d: 2}"),
        ("3", "<3>"),
        ("#A & {b: 1}", "<(#A And {b: 1})>"),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("a: []", "a: []"),
        ("a: [1, 2,]", "a: [1, 2]"),
        ("a: [\n\t1,\n\t2,\n]", "a: [1, 2]"),
        ("a: [\n\t1,\n\t2\n]", "a: [1, 2]"),
        ("a: [1\n, 2]", "a: [1, 2]"),
        (
            "a: [...]\nb: [...string]\nc: [1, ...int]\nd: [...{a: 1},]",
            "a: [...]; b: [...string]; c: [1, ...int]; d: [...{a: 1}]",
        ),
        ("a: [for x in y {x}]", "a: [for x in y {<x>}]"),
        (
            "a: [if b {1}, 2, for x in y {x},]",
            "a: [if b {<1>}, 2, for x in y {<x>}]",
        ),
        ("a: [\n\tif b {1}\n\tif c {2}\n]", "a: [if b {<1>}, if c {<2>}]"),
        ("a: [[1], [2]][0][1]", "a: [[1], [2]][0][1]"),
    ]);
}

#[test]
fn operators_bind_as_the_language_says() {
    check(&[
        ("a: b | c & d", "a: (b Or (c And d))"),
        (
            "a: b || c && d == e",
            "a: (b LogicalOr (c LogicalAnd (d Equal e)))",
        ),
        ("a: b & c || d", "a: (b And (c LogicalOr d))"),
        ("a: 1 + 2 * 3 - 4", "a: ((1 Add (2 Multiply 3)) Subtract 4)"),
        ("a: 1 / 2 * 3", "a: ((1 Divide 2) Multiply 3)"),
        ("a: b < c + 1", "a: (b Less (c Add 1))"),
        ("a: -b + !c", "a: ((Minus b) Add (Not c))"),
        ("a: - -b", "a: (Minus (Minus b))"),
        ("a: *1 | 2", "a: ((Star 1) Or 2)"),
        (
            "a: >=1 & <10 & !=5",
            "a: (((GreaterEqual 1) And (Less 10)) And (NotEqual 5))",
        ),
        ("a: =~\"x\" & !~\"y\"", "a: ((Match \"x\") And (NotMatch \"y\"))"),
        ("a: b =~ \"x\"", "a: (b Match \"x\")"),
        ("a: <b.c", "a: (Less b.c)"),
        ("a: (b | c) & d", "a: (P((b Or c)) And d)"),
        ("a: 7 div 2 + 1", "a: (div(7, 2) Add 1)"),
        ("a: 7 mod 2 quo 3 rem 4", "a: rem(quo(mod(7, 2), 3), 4)"),
        ("a: b |\n\tc", "a: (b Or c)"),
        ("a: _|_ | _", "a: (_|_ Or _)"),
    ]);
}

#[test]
fn operands() {
    check(&[
        ("a: b.c.\"d e\"[0].f", "a: b.c.\"d e\"[0].f"),
        (
            "a: b[1:2]\nc: b[:2]\nd: b[1:]\ne: b[:]",
            "a: b[1:2]; c: b[:2]; d: b[1:]; e: b[:]",
        ),
        ("a: f()\nb: f(1)\nc: f(1, 2,)", "a: f(); b: f(1); c: f(1, 2)"),
        ("a: f(1\n)\nb: f(\n\t1,\n\t2,\n)", "a: f(1); b: f(1, 2)"),
        ("a: f(1\n2)", "a: f(1, 2)"),
        ("a: (\n1)", "a: P(1)"),
        ("a: b[\n0]", "a: b[0]"),
        ("a: b.\nc", "a: b.c"),
        ("a: strings.Join(b, \",\").c", "a: strings.Join(b, \",\").c"),
        ("a: {b: 1}.b", "a: {b: 1}.b"),
        ("a: null\nb: true\nc: false", "a: null; b: true; c: false"),
        ("a: __x", "a: __x"),
    ]);
}

#[test]
fn number_literals() {
    check(&[
        (
            "a: [0, 1, 1_000, 0x1F, 0XaB, 0o17, 0b101]",
            "a: [0, 1, 1000, 31, 171, 15, 5]",
        ),
        (
            "a: [1K, 2M, 1.5Ki, 1Pi, .5K]",
            "a: [1000, 2000000, 1536, 1125899906842624, 500]",
        ),
        (
            "a: [1.5, .5, 1., 1e3, 1.5E-3, 00.5, 1_0.5_0e1_0]",
            "a: [1.5, 0.5, 1.0, 1e+3, 0.0015, 0.5, 1.050e+11]",
        ),
        ("a: 0xFFFF_FFFF_FFFF_FFFF_FF", "a: 4722366482869645213695"),
    ]);
}

#[test]
fn string_literals() {
    check(&[
        (r#"a: "x\n\t\"\\\/é\U0001F600""#, r#"a: "x\n\t\"\\/é😀""#),
        (r#"a: "\u00e9\ud83d\ude00""#, r#"a: "é😀""#),
        (r#"a: "it's" + 'a"b'"#, r#"a: ("it's" Add b"a\"b")"#),
        (r"a: '\x41\377\u00e9\''", r#"a: b"A\xff\xc3\xa9\'""#),
        (r##"a: #"a"b\n\#n"#"##, r#"a: "a\"b\\n\n""#),
        (r###"a: ##"a"#b\#n\##t"##"###, r##"a: "a\"#b\\#n\t""##),
        (r##"a: #""#, b: #""x"#"##, "a: \"\"; b: \"\\\"x\""),
        ("a: \"\", b: ''", "a: \"\"; b: b\"\""),
        ("a: \"\"\"\n\tx\n\t  y\n\n\tz\n\t\"\"\"", "a: \"x\\n  y\\n\\nz\""),
        ("a: \"\"\"\n\"\"\"\nb: \"\"\"\n\n\"\"\"", "a: \"\"; b: \"\""),
        ("a: \"\"\"\r\n  x\r\n  y\r\n  \"\"\"", "a: \"x\\ny\""),
        (
            "a: \"\"\"\n  say \"hi\" and \"\"\n  \"\"\"",
            "a: \"say \\\"hi\\\" and \\\"\\\"\"",
        ),
        ("a: '''\n  \\x00\n  '''", "a: b\"\\x00\""),
        ("a: #\"\"\"\n  \\n\\#n\n  \"\"\"#", "a: \"\\\\n\\n\""),
        ("a: \"\"\"\nfoo\"\"\"", "a: \"foo\""),
    ]);
}

#[test]
fn interpolations() {
    check(&[
        (r#"a: "\(b)""#, "a: ~b~"),
        (r#"a: "x\(b + 1)y\(c)z""#, r#"a: ~"x"|(b Add 1)|"y"|c|"z"~"#),
        (r#"a: "\("\(b)")""#, "a: ~~b~~"),
        (r#"a: "\({b: ")"}.b)""#, "a: ~{b: \")\"}.b~"),
        (r#"a: "\(f(1, [2]))""#, "a: ~f(1, [2])~"),
        (r"a: '\(b)\xff'", "a: b~b|\"\u{fffd}\"~"),
        (r##"a: #"\(b)\#(c)"#"##, r#"a: ~"\\(b)"|c~"#),
        (
            "a: \"\"\"\n\tx\n\t\\(b)\n\ty \\(c)\n\t\"\"\"",
            "a: ~\"x\\n\"|b|\"\\ny \"|c~",
        ),
        ("a: \"\\(\n\tb)\"", "a: ~b~"),
        (r#"a: "\(b)" + "\(c)""#, "a: (~b~ Add ~c~)"),
    ]);
}
