//! The least that has to hold around a worker.

use limbeck_domain::{Layer, Sandbox, Tier};

/// The weakest sandbox that programs run in: a tier, and layers beside it, for machines that allow some of the stricter tier's
/// layers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxFloor {
    /// The weakest tier.
    pub tier: Tier,
    /// Layers that have to hold in any tier.
    pub layers: Vec<Layer>,
}

impl SandboxFloor {
    /// Whether a program may run in this sandbox.
    pub fn is_met_by(&self, sandbox: &Sandbox) -> bool {
        sandbox.tier >= self.tier && self.lacking(sandbox).next().is_none()
    }

    /// Layers of this floor, beside its tier, that do not hold.
    pub fn lacking<'f>(&'f self, sandbox: &'f Sandbox) -> impl Iterator<Item = Layer> + 'f {
        let layers = self.layers.iter().copied();
        layers.filter(|layer| !sandbox.held.contains(layer))
    }
}

impl From<Tier> for SandboxFloor {
    fn from(tier: Tier) -> Self {
        Self {
            tier,
            layers: Vec::new(),
        }
    }
}

/// `strict`, or `wasm with seccomp and landlock`.
impl std::fmt::Display for SandboxFloor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.tier)?;
        let names: Vec<&str> = self.layers.iter().map(|layer| layer.as_str()).collect();
        match names.split_last() {
            None => Ok(()),
            Some((only, [])) => write!(f, " with {only}"),
            Some((last, rest)) => write!(f, " with {} and {last}", rest.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_raise_a_tier_and_lower_none() {
        let of = |layers: &[Layer]| Sandbox::of(layers.to_vec(), Vec::new());
        let floor = SandboxFloor {
            tier: Tier::Wasm,
            layers: vec![Layer::Landlock, Layer::Seccomp],
        };
        assert_eq!(floor.to_string(), "wasm with landlock and seccomp");
        assert!(floor.is_met_by(&of(&[Layer::Seccomp, Layer::Landlock])));
        assert!(floor.is_met_by(&of(Layer::ALL)));
        assert!(!floor.is_met_by(&of(&[Layer::Seccomp])));
        let strict = SandboxFloor {
            tier: Tier::Strict,
            ..floor
        };
        assert!(!strict.is_met_by(&of(&[Layer::Seccomp, Layer::Landlock])));
        assert!(SandboxFloor::from(Tier::Wasm).is_met_by(&of(&[])));
        // One that `strict` does not require can be asked for as well.
        let more = SandboxFloor {
            tier: Tier::Strict,
            layers: vec![Layer::NoNewCode],
        };
        let without: Vec<Layer> = Layer::ALL
            .iter()
            .copied()
            .filter(|layer| *layer != Layer::NoNewCode)
            .collect();
        assert!(!more.is_met_by(&of(&without)));
    }
}
