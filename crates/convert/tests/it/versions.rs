//! What is the highest version here is the highest version there.

use cambium_convert::definition::highest;
use cambium_lineage::Version;
use serde_json::json;

const TEXTS: [&str; 26] = [
    "0",
    "1",
    "2",
    "10",
    "1.0",
    "1.2",
    "1.10",
    "1.2.3",
    "1.2.10",
    "1.2.3+a",
    "1.2.3+b",
    "1.2.3-rc.1",
    "1.2.3-rc.2",
    "1.2.3-rc.10",
    "2.0.0-alpha",
    "2-rc.1",
    "2.1-rc.1",
    "2+a",
    "v1",
    "01.2.3",
    "1.2.3.4",
    "latest",
    "",
    "1.x",
    "18446744073709551616",
    "1.2.3-",
];

#[test]
fn highest_agrees_with_lineage() {
    for one in TEXTS {
        for other in TEXTS {
            let second = match (Version::declared(one), Version::declared(other)) {
                (Ok(one), Ok(other)) => (other.is_release(), &other) > (one.is_release(), &one),
                (Err(_), Ok(_)) => true,
                _ => false,
            };
            let found = highest(&[json!({"version": one}), json!({"version": other})]);
            assert_eq!(found, Some(usize::from(second)), "{one:?}, {other:?}");
        }
    }
}
