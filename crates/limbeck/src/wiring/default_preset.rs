//! The preset where no file names one, by the way that calls come in.
//!
//! It is `observe` on each: a stricter one would stop calls of users who wrote no policy, and of clients that show no questions.
//! Planned are `balanced` for commands on a terminal and for clients over stdio, `strict` for services and `balanced` for people over
//! HTTP; for these two the policy has to know who asks when it takes the default. Tests that call tools through the executable
//! without a configuration of their own assume `observe`: their worlds then have to name it.

use limbeck_policy::rules::Preset;

/// Way that the calls of a gateway come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayIn {
    /// A command of the user, such as `run` and `call`.
    Command,
    /// A client on standard input and output.
    Stdio,
    /// Clients that list the tools of an earlier system.
    EarlierSystem,
    /// Clients over HTTP.
    Http,
}

impl WayIn {
    /// The way of a gateway whose clients list the tools of an earlier system, where there are such.
    pub(crate) fn or_earlier_system(self, lists_earlier: bool) -> Self {
        if lists_earlier {
            Self::EarlierSystem
        } else {
            self
        }
    }

    /// The preset where no file names one.
    pub(crate) fn default_preset(self) -> Preset {
        match self {
            // Earlier systems never asked, and neither did this one: who wrote no policy is asked nothing. `doctor` proposes
            // `balanced`.
            Self::EarlierSystem | Self::Command | Self::Stdio | Self::Http => Preset::Observe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_named_no_preset_is_asked_nothing_on_any_way() {
        let ways = [
            WayIn::Command,
            WayIn::Stdio,
            WayIn::EarlierSystem,
            WayIn::Http,
        ];
        for way in ways {
            assert_eq!(way.default_preset(), Preset::Observe, "{way:?}");
        }
        assert_eq!(WayIn::Stdio.or_earlier_system(true), WayIn::EarlierSystem);
        assert_eq!(WayIn::Stdio.or_earlier_system(false), WayIn::Stdio);
    }
}
