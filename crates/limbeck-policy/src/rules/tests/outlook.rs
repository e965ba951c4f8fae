use super::*;

fn outlook_of<'a>(rules: &'a RuleSet, tool: &ToolId, class: EffectClass) -> Outlook<'a> {
    rules.outlook(tool, class, false, &["user:anna"])
}

#[test]
fn an_outlook_is_never_looser_than_a_decision_and_is_certain_only_when_all_agree() {
    let mut numbers = Numbers(3);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3000 {
        let rules = set((0..1 + numbers.below(6))
            .map(|id| random_rule(&mut numbers, id))
            .collect());
        let (tool, class, _) = random_call(&mut numbers);
        let outlook = outlook_of(&rules, &tool, class);
        for _ in 0..10 {
            let (_, _, arguments) = random_call(&mut numbers);
            let call = CallFacts {
                tool: &tool,
                subject: crate::Subject::Tool,
                class,
                class_by_operator: false,
                arguments: &arguments,
                who: &["user:anna"],
            };
            let decided = rules.decide(&call).effect;
            assert!(decided <= outlook.effect, "{outlook:?} {arguments}");
            assert!(
                !outlook.is_always || decided == outlook.effect,
                "{outlook:?} {arguments}"
            );
        }
        seen.insert((outlook.effect, outlook.is_always));
    }
    // Every kind was met but for an allowing one that is not certain.
    assert!(seen.len() >= 5, "{seen:?}");
}

#[test]
fn an_outlook_names_what_decides() {
    let of = |rules: Vec<Rule>, preset| {
        let rules = RuleSet::new(rules, &[], preset).unwrap();
        let outlook = outlook_of(&rules, &ToolId::new("mail", "send"), EffectClass::Write);
        (outlook.effect, outlook.is_always, outlook.by.to_string())
    };
    let large = |id, effect| {
        let rule = rule(id, effect, &["mail.send"]);
        with_argument(rule, "amount", &json!({ "gt": 100 }))
    };
    let (ask, deny) = (Effect::Ask, Effect::Deny);
    let by = |text: &str| text.to_owned();
    assert_eq!(
        of(vec![rule("outside", ask, &["mail"])], Preset::Observe),
        (ask, true, by("rule outside"))
    );
    assert_eq!(
        of(vec![large("large", deny)], Preset::Observe),
        (deny, false, by("rule large"))
    );
    assert_eq!(
        of(Vec::new(), Preset::Balanced),
        (ask, true, by("preset balanced"))
    );
    assert_eq!(
        of(vec![large("small", Effect::Allow)], Preset::Readonly),
        (deny, false, by("preset readonly"))
    );
    let other = of(vec![rule("crm", deny, &["crm"])], Preset::Observe);
    assert_eq!((other.0, other.1), (Effect::Allow, true));
}
