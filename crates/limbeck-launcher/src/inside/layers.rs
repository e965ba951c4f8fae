//! Layers that a worker puts up: all of them, except in the build that proves that each one matters.

use limbeck_domain::Layer;

/// Layers to put up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveLayers {
    #[cfg(feature = "assume-escape")]
    left_out: u32,
}

impl ActiveLayers {
    /// Every layer. A product build cannot leave one out.
    #[cfg(not(feature = "assume-escape"))]
    pub(crate) fn read() -> Self {
        Self {}
    }

    /// Every layer but those named, comma-separated, in the third argument.
    #[cfg(feature = "assume-escape")]
    pub(crate) fn read() -> Self {
        let names = std::env::args().nth(2).unwrap_or_default();
        let left_out = Layer::ALL
            .iter()
            .filter(|layer| names.split(',').any(|name| name == layer.as_str()))
            .fold(0, |bits, layer| bits | 1 << *layer as u32);
        Self { left_out }
    }

    /// Whether `layer` is to be put up.
    #[cfg_attr(
        not(feature = "assume-escape"),
        expect(clippy::unused_self, reason = "the product has no choice")
    )]
    pub(crate) fn has(self, layer: Layer) -> bool {
        #[cfg(feature = "assume-escape")]
        return self.left_out & (1 << layer as u32) == 0;
        #[cfg(not(feature = "assume-escape"))]
        {
            let _ = layer;
            true
        }
    }
}
