//! Skills: versions that are compared, and what waits for a person.

use limbeck_domain::{Language, Skill, SkillForm};
use limbeck_store::{NewSkill, SavedSkill, Store};

fn skill(name: &str, source: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        version: 0,
        language: Language::Python,
        form: SkillForm::Function,
        description: String::new(),
        signature: format!("skills.{name}()"),
        source: source.to_owned(),
        text: None,
        tools: Vec::new(),
        calls_more: false,
        execution: None,
        saved_us: 1,
    }
}

async fn put(
    store: &Store,
    source: &str,
    if_version: Option<u32>,
    is_proposed: bool,
) -> SavedSkill {
    let new = NewSkill {
        skill: skill("f", source),
        is_proposed,
        if_version,
    };
    store.put_skill("a", new).await.unwrap()
}

async fn source(store: &Store, is_proposed: bool) -> Option<(u32, String)> {
    let found = store.skill("a", "f", is_proposed).await.unwrap();
    found.map(|found| (found.skill.version, found.skill.source))
}

#[tokio::test]
async fn of_two_that_replace_one_version_one_is_kept() {
    let store = Store::in_memory().unwrap();
    assert_eq!(put(&store, "1", Some(0), false).await, SavedSkill::Kept(1));
    assert_eq!(
        put(&store, "1", None, false).await,
        SavedSkill::Unchanged(1)
    );
    let (one, other) = tokio::join!(
        put(&store, "2", Some(1), false),
        put(&store, "3", Some(1), false)
    );
    let mut outcomes = [one, other];
    outcomes.sort_by_key(|outcome| *outcome == SavedSkill::Conflict(2));
    assert_eq!(outcomes, [SavedSkill::Kept(2), SavedSkill::Conflict(2)]);
    // The control: without a version the newest is replaced. Another principal has none of it.
    assert_eq!(put(&store, "4", None, false).await, SavedSkill::Kept(3));
    assert_eq!(source(&store, false).await, Some((3, "4".to_owned())));
    assert!(store.skill("b", "f", false).await.unwrap().is_none());
    assert_eq!(store.remove_skill("a", "f", Some(2)).await.unwrap(), Err(3));
    assert_eq!(
        store.remove_skill("a", "f", Some(3)).await.unwrap(),
        Ok(Some(3))
    );
    assert_eq!(store.remove_skill("a", "f", None).await.unwrap(), Ok(None));
}

#[tokio::test]
async fn what_waits_for_a_person_leaves_the_version_in_use() {
    let store = Store::in_memory().unwrap();
    put(&store, "old", None, false).await;
    assert_eq!(put(&store, "new", None, true).await, SavedSkill::Kept(2));
    assert_eq!(source(&store, false).await, Some((1, "old".to_owned())));
    assert_eq!(source(&store, true).await, Some((2, "new".to_owned())));
    assert_eq!(store.accept_skill("a", "f").await.unwrap(), Some(2));
    assert_eq!(source(&store, false).await, Some((2, "new".to_owned())));
    assert_eq!(store.accept_skill("a", "f").await.unwrap(), None);
    let all = store.skills(Some("a")).await.unwrap();
    assert_eq!(all.len(), 1);
}
