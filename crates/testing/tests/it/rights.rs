//! The manager's ClusterRole grants exactly the rights that the acceptance tests use.

use anyhow::Result;
use cambium_api::rbac;
use cambium_testing::rights;

#[test]
fn rights_that_nobody_uses_and_those_that_are_missing_are_found() -> Result<()> {
    let role = r#"rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get]}, {apiGroups: [""], resources: [pods, pods/log], verbs: [patch]}]"#;
    let used = "get apps/deployments\npatch /pods\npatch /pods/log\n";
    assert_eq!(rights::judge(role, used)?, Vec::<String>::new());
    assert_eq!(
        rights::judge(role, "patch /pods\nrefused something\n")?,
        [
            "refused something",
            "granted and not used: get */*",
            "granted and not used: patch /pods/log"
        ]
    );
    Ok(())
}

/// After the acceptance tests have run with `CAMBIUM_RIGHTS_LOG`.
#[test]
fn every_right_that_the_manager_has_was_used_and_none_was_missing() -> Result<()> {
    let Some(path) = std::env::var_os(rights::LOG) else {
        return Ok(());
    };
    let role = rbac::documents(rbac::MANAGER).next().unwrap_or_default();
    let problems = rights::judge(role, &std::fs::read_to_string(path)?)?;
    assert!(problems.is_empty(), "{problems:#?}");
    Ok(())
}
