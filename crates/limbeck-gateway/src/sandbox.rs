//! Texts about a worker's sandbox for models, users and the log.
//!
//! A gateway runs no program in a worker below its minimum tier. In an accepted tier below `strict` every
//! execution carries a warning, so that a weaker tier is not mistaken for the strong one.

use limbeck_domain::text::clean_line;
use limbeck_domain::{ErrorKind, MissingLayer, ProgramError, Sandbox, Tier};
use limbeck_launcher::SandboxFloor;

/// Number of missing layers that are named; the rest are counted.
const NAMED_MAX: usize = 3;
/// Bytes shown of the reason why one is missing.
const REASON_BYTES_SHOWN: usize = 120;

/// Warning about a tier below [`Tier::Strict`].
pub fn warning(sandbox: &Sandbox) -> Option<String> {
    if sandbox.tier >= Tier::Strict {
        return None;
    }
    let names = sandbox.lacks().map(|missing| missing.layer.to_string());
    let names = listed(names.collect());
    Some(format!(
        "sandbox tier `{}`, not `{}`: without {names}; run `limbeck doctor --sandbox`",
        sandbox.tier,
        Tier::Strict
    ))
}

/// Error of a program whose worker is below the minimum, with the next step.
pub fn refusal(sandbox: &Sandbox, minimum: &SandboxFloor) -> ProgramError {
    let tier = sandbox.tier;
    if tier >= minimum.tier {
        return below_layers(sandbox, minimum);
    }
    let layers = sandbox.lacks().map(with_reason);
    let layers = listed(layers.collect());
    ProgramError::new(
        ErrorKind::Gateway,
        format!("the sandbox is `{tier}` and `{minimum}` is the minimum, so no program runs; without {layers}"),
    )
    .with_hint(format!(
        "run `limbeck doctor --sandbox`; to run without these layers set `minimum_tier = \"{tier}\"` under `[sandbox]` in ~/.config/limbeck/config.toml, or start with `--minimum-tier {tier}`"
    ))
}

/// Error of a program whose worker lacks layers that the operator requires beside the tier.
fn below_layers(sandbox: &Sandbox, minimum: &SandboxFloor) -> ProgramError {
    let lacking = minimum.lacking(sandbox).map(|layer| {
        let missing = sandbox.missing.iter().find(|it| it.layer == layer);
        missing.map_or_else(|| layer.to_string(), with_reason)
    });
    let lacking = listed(lacking.collect());
    ProgramError::new(
        ErrorKind::Gateway,
        format!("the sandbox is `{}` without {lacking}, and `require_layers` asks for them, so no program runs", sandbox.tier),
    )
    .with_hint("run `limbeck doctor --sandbox`; to run without these layers change `require_layers` under `[sandbox]` in ~/.config/limbeck/config.toml")
}

fn with_reason(missing: &MissingLayer) -> String {
    let reason = clean_line(&missing.reason, REASON_BYTES_SHOWN);
    format!("{} ({reason})", missing.layer)
}

/// `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`.
fn listed(mut items: Vec<String>) -> String {
    let more = items.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        items.truncate(NAMED_MAX);
        items.push(format!("{more} more"));
    }
    match items.as_slice() {
        [] => "a layer that was not reported".to_owned(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::Layer;

    use super::*;

    /// Everything holds but `layers`.
    fn without(layers: &[Layer]) -> Sandbox {
        let held = Layer::ALL.iter().copied();
        let held = held.filter(|layer| !layers.contains(layer)).collect();
        let missing = layers.iter().map(|layer| MissingLayer {
            layer: *layer,
            reason: "the kernel says ENOSYS".to_owned(),
        });
        Sandbox::of(held, missing.collect())
    }

    #[test]
    fn strict_is_worth_no_warning_and_neither_is_a_layer_it_can_do_without() {
        assert_eq!(warning(&without(&[])), None);
        assert_eq!(warning(&without(&[Layer::Speculation])), None);
    }

    #[test]
    fn a_warning_names_three_layers_and_counts_the_rest() {
        assert_eq!(
            warning(&without(&[Layer::Landlock, Layer::Speculation])).unwrap(),
            "sandbox tier `wasm`, not `strict`: without landlock; run `limbeck doctor --sandbox`"
        );
        assert_eq!(
            warning(&Sandbox::wasm_only("this platform has none")).unwrap(),
            "sandbox tier `wasm`, not `strict`: without environment, pid_namespace, \
             network_namespace and 13 more; run `limbeck doctor --sandbox`"
        );
    }

    #[test]
    fn a_refusal_says_which_layers_why_and_what_to_do() {
        let refused = refusal(
            &without(&[Layer::Landlock, Layer::Seccomp]),
            &Tier::Strict.into(),
        );
        assert_eq!(refused.kind, ErrorKind::Gateway);
        assert_eq!(
            refused.message,
            "the sandbox is `wasm` and `strict` is the minimum, so no program runs; without landlock \
             (the kernel says ENOSYS) and seccomp (the kernel says ENOSYS)"
        );
        let hint = refused.hint.unwrap();
        for part in [
            "limbeck doctor --sandbox",
            "minimum_tier = \"wasm\"",
            "~/.config/limbeck/config.toml",
            "--minimum-tier wasm",
        ] {
            assert!(hint.contains(part), "{hint}");
        }
    }

    #[test]
    fn layers_that_are_required_beside_the_tier_are_named() {
        let floor = SandboxFloor {
            tier: Tier::Wasm,
            layers: vec![Layer::Landlock, Layer::Seccomp],
        };
        let refused = refusal(&without(&[Layer::Landlock, Layer::PidNamespace]), &floor);
        assert_eq!(
            refused.message,
            "the sandbox is `wasm` without landlock (the kernel says ENOSYS), and `require_layers` asks for them, so no program runs"
        );
        assert!(refused.hint.unwrap().contains("`require_layers`"));
    }

    #[test]
    fn a_reason_cannot_write_to_a_terminal_or_fill_a_message() {
        let mut sandbox = without(&[Layer::Seccomp]);
        sandbox.missing[0].reason = format!("\u{1b}[31m{}", "x".repeat(4_000));
        let message = refusal(&sandbox, &Tier::Strict.into()).message;
        assert!(
            !message.contains('\u{1b}') && message.len() < 300,
            "{message}"
        );
    }
}
