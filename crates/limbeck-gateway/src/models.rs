//! Models that programs may ask: which provider answers, what a run may ask, and what its calls have cost.
//!
//! The client of a run answers where it can (`sampling/createMessage`); otherwise the provider that the user configured. What a run
//! may ask is fixed when it begins ([`Models::terms`]) and recorded with it. Rounds and tokens are reserved before a question is put
//! ([`quota`]), so that calls at the same time cannot exceed them together.
//!
//! The path of one question is `broker::model_calls`.

mod calls;
mod filter;
pub(crate) mod quota;

use limbeck_domain::ModelTerms;
use limbeck_domain::model::{
    MODEL_ROUNDS_DEFAULT, MODEL_ROUNDS_MAX, MODEL_TOKENS_DEFAULT, MODEL_TOKENS_MAX,
};
use limbeck_upstream::models::{ModelProvider, ProviderSpec};

pub(crate) use calls::{LeftJson, ModelAnswerJson, ModelRound, ModelTally};
pub use calls::{ModelCall, ModelCalls};
pub(crate) use filter::filtered;
pub(crate) use quota::ModelQuota;

/// Models of the configuration.
#[derive(Clone, Debug)]
pub struct ModelsConfig {
    /// Whether programs may ask at all.
    pub enabled: bool,
    /// Provider that answers where the client does not.
    pub provider: Option<ProviderSpec>,
    /// Whether it answers every program, and not those alone whose request turns sampling on.
    pub provider_is_for_all: bool,
    /// Most rounds of one execution; `None` lets a request ask for up to [`MODEL_ROUNDS_MAX`].
    pub rounds: Option<u32>,
    /// Most tokens of one execution; `None` lets a request ask for up to [`MODEL_TOKENS_MAX`].
    pub tokens: Option<u64>,
    /// Models that programs may name; `None` for the provider's default and those that the request names.
    pub models: Option<Vec<String>>,
    /// System prompts that programs may use; `None` for those that the request names, or any.
    pub system_prompts: Option<Vec<String>>,
    /// Whether secrets and personal data are removed from answers; `None` for what the request says.
    pub filter: Option<bool>,
}

impl Default for ModelsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            provider: None,
            provider_is_for_all: true,
            rounds: None,
            tokens: None,
            models: None,
            system_prompts: None,
            filter: None,
        }
    }
}

/// What the request of an execution says about questions to models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelsRequest {
    /// Whether its program may ask none.
    pub is_off: bool,
    /// Whether the request itself turns questions on.
    pub is_asked_for: bool,
    /// Rounds, at most what the configuration allows.
    pub rounds: Option<u32>,
    /// Tokens, at most what the configuration allows.
    pub tokens: Option<u64>,
    /// System prompt of questions without one.
    pub system_prompt: Option<String>,
    /// Models that it may name.
    pub models: Option<Vec<String>>,
    /// System prompts that it may use, where the configuration does not say.
    pub system_prompts: Option<Vec<String>>,
    /// Whether answers are filtered, where the configuration does not say.
    pub filters: bool,
}

/// Models of a running gateway.
#[derive(Debug)]
pub(crate) struct Models {
    config: ModelsConfig,
    provider: Option<ModelProvider>,
    /// Why the configured provider cannot be used.
    problem: Option<String>,
}

impl Models {
    pub(crate) fn new(config: ModelsConfig) -> Self {
        let (provider, problem) = match config.provider.clone().map(ModelProvider::new) {
            None => (None, None),
            Some(Ok(provider)) => (Some(provider), None),
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        if let Some(problem) = &problem {
            tracing::warn!("the provider of models cannot be used: {problem}");
        }
        Self {
            config,
            provider,
            problem,
        }
    }

    pub(crate) fn config(&self) -> &ModelsConfig {
        &self.config
    }

    /// The provider that answers an execution with these terms.
    pub(crate) fn provider(&self, terms: &ModelTerms) -> Option<&ModelProvider> {
        self.provider.as_ref().filter(|_| terms.provider)
    }

    /// Why the configured provider cannot be used.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// What an execution may ask.
    pub(crate) fn terms(&self, request: &ModelsRequest) -> ModelTerms {
        let config = &self.config;
        if request.is_off {
            return ModelTerms::default();
        }
        let rounds_max = config.rounds.unwrap_or(MODEL_ROUNDS_MAX);
        let tokens_max = config.tokens.unwrap_or(MODEL_TOKENS_MAX);
        let rounds = config.rounds.unwrap_or(MODEL_ROUNDS_DEFAULT);
        let tokens = config.tokens.unwrap_or(MODEL_TOKENS_DEFAULT);
        ModelTerms {
            enabled: true,
            provider: config.provider_is_for_all || request.is_asked_for,
            rounds: request.rounds.unwrap_or(rounds).min(rounds_max),
            tokens: request.tokens.unwrap_or(tokens).min(tokens_max),
            system_prompt: request.system_prompt.clone(),
            models: request.models.clone(),
            system_prompts: config
                .system_prompts
                .clone()
                .or_else(|| request.system_prompts.clone()),
            filter: config.filter.unwrap_or(request.filters),
        }
    }

    /// The model of a question that names `asked`, where it may be asked; `None` where the client chooses it.
    ///
    /// # Errors
    ///
    /// The models that may be named, when this one may not.
    pub(crate) fn model_for(
        &self,
        asked: Option<&str>,
        terms: &ModelTerms,
    ) -> Result<Option<String>, Vec<String>> {
        let default = self.provider(terms).map(|it| it.spec().model());
        let allowed: Option<Vec<&str>> = match (&self.config.models, &terms.models) {
            (Some(config), Some(request)) => {
                let both = config.iter().filter(|model| request.contains(model));
                Some(both.map(String::as_str).collect())
            }
            (Some(list), None) | (None, Some(list)) => {
                Some(list.iter().map(String::as_str).collect())
            }
            (None, None) => None,
        };
        match (asked, allowed) {
            (Some(asked), Some(allowed)) if allowed.contains(&asked) => Ok(Some(asked.to_owned())),
            (Some(asked), None) if default.is_none_or(|default| default == asked) => {
                Ok(Some(asked.to_owned()))
            }
            (Some(_), Some(allowed)) => Err(allowed.into_iter().map(str::to_owned).collect()),
            (Some(_), None) => Err(default.into_iter().map(str::to_owned).collect()),
            (None, Some(allowed)) => {
                let named = default.filter(|default| allowed.contains(default));
                let chosen = named.or(allowed.first().copied());
                chosen
                    .map(|model| Some(model.to_owned()))
                    .ok_or_else(Vec::new)
            }
            (None, None) => Ok(default.map(str::to_owned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_upstream::models::ProviderKind;

    use super::*;

    fn models(config: ModelsConfig) -> Models {
        let spec = ProviderSpec::new(
            ProviderKind::OpenAiCompatible,
            Some("http://127.0.0.1:9"),
            Some("small"),
        );
        Models::new(ModelsConfig {
            provider: Some(spec.unwrap()),
            ..config
        })
    }

    fn list(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_request_narrows_what_the_user_allows_and_never_widens_it() {
        let request = |rounds, tokens| ModelsRequest {
            rounds,
            tokens,
            ..ModelsRequest::default()
        };
        let terms = |models: &Models, rounds, tokens| {
            let terms = models.terms(&request(rounds, tokens));
            (terms.rounds, terms.tokens)
        };
        let unset = models(ModelsConfig::default());
        assert_eq!(terms(&unset, None, None), (10, 10_000));
        assert_eq!(terms(&unset, Some(50), Some(100)), (50, 100));
        assert_eq!(terms(&unset, Some(5_000), Some(u64::MAX)), (100, 100_000));
        let set = models(ModelsConfig {
            rounds: Some(20),
            tokens: Some(500),
            ..ModelsConfig::default()
        });
        assert_eq!(terms(&set, None, None), (20, 500));
        assert_eq!(terms(&set, Some(50), Some(10_000)), (20, 500));
        assert_eq!(terms(&set, Some(1), Some(1)), (1, 1));
        let off = ModelsRequest {
            is_off: true,
            ..ModelsRequest::default()
        };
        assert!(!unset.terms(&off).enabled);
    }

    #[test]
    fn a_model_has_to_be_allowed_and_without_one_the_default_is_asked_where_it_is() {
        let config = |models| ModelsConfig {
            models,
            ..ModelsConfig::default()
        };
        let terms = |models| ModelTerms {
            provider: true,
            models,
            ..ModelTerms::default()
        };
        for (config_list, request_list, asked, expected) in [
            (None, None, None, Ok("small")),
            (None, None, Some("small"), Ok("small")),
            (None, None, Some("large"), Err(1)),
            (None, list(&["large"]), Some("large"), Ok("large")),
            (None, list(&["large"]), None, Ok("large")),
            (None, list(&["large", "small"]), None, Ok("small")),
            (list(&["small", "mid"]), None, Some("mid"), Ok("mid")),
            (list(&["small"]), list(&["large"]), Some("large"), Err(0)),
            (list(&["small"]), list(&["large"]), None, Err(0)),
        ] {
            let models = models(config(config_list.clone()));
            let found = models.model_for(asked, &terms(request_list.clone()));
            let found = found.map(Option::unwrap).map_err(|allowed| allowed.len());
            assert_eq!(
                found,
                expected.map(str::to_owned),
                "{config_list:?} {request_list:?} {asked:?}"
            );
        }
    }
}
