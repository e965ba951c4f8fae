//! `limbeck policy export --cedar`.

use super::world_with;

#[test]
fn rules_are_exported_to_cedar_and_what_it_cannot_say_fails_when_that_is_asked_for() {
    let rules = "[[policy.rule]]\nid = 'first'\neffect = 'deny'\ntools = ['shop.get_customer']\n";
    let world = world_with(&format!(
        "[policy]\npreset = 'observe'\n{rules}args = {{ id = 'cus_0001' }}\n"
    ));
    world.limbeck(["tools"]).ends_with(0);
    let printed = world
        .limbeck(["policy", "export", "--cedar", "--strict"])
        .ends_with(0);
    assert!(
        printed.stdout.contains("@id(\"first\")\nforbid ("),
        "{printed:?}"
    );
    let file = world.work().join("out.cedar");
    let written = world.limbeck(["policy", "export", "--cedar", file.to_str().unwrap()]);
    written.ends_with(0);
    let schema = std::fs::read_to_string(world.work().join("out.cedarschema")).unwrap();
    assert!(
        schema.contains("action \"shop.get_customer\" appliesTo"),
        "{schema}"
    );

    let world = world_with(&format!("{rules}args = {{ id = {{ regex = '^cus' }} }}\n"));
    world.limbeck(["tools"]).ends_with(0);
    let refused = world
        .limbeck(["policy", "export", "--cedar", "--strict"])
        .ends_with(1);
    assert_eq!(refused.stdout, "");
    assert!(refused.stderr.contains("rule `first`"), "{refused:?}");
    let printed = world.limbeck(["policy", "export", "--cedar"]).ends_with(0);
    assert!(
        printed.stdout.contains("// not expressed: rule `first`"),
        "{printed:?}"
    );
}
