//! One tool: its definition, and what is computed from it on first use.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use limbeck_domain::{
    CallError, CompactArguments, EffectClass, Language, ToolAnnotations, ToolDefinition, ToolId,
};
use serde::Serialize as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::names;
use crate::observed::{Observed, ObservedType, OutputShape, Provenance};
use crate::signature;
use crate::validate::{AcceptedArguments, ArgumentCheck};

/// Amount of detail in a tool's declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Callable expression and first sentence of the description.
    Brief,
    /// [`Detail::Brief`] with input and output types.
    #[default]
    Signature,
    /// Whole description, and types with a comment on each property.
    Full,
}

/// Bytes of a description's first sentence.
const SENTENCE_BYTES_MAX: usize = 240;
/// Bytes of a description shown at [`Detail::Full`]; the longest seen in 2,781 real tools is 12 KiB.
const DESCRIPTION_SHOWN_BYTES_MAX: usize = 16 << 10;

/// A tool, shared behind `Arc` by every snapshot that contains it.
///
/// Signature, hash and compiled schema are computed on first use and cached, so a new snapshot with the
/// same tools does not compute them again.
pub struct Tool {
    defined: Arc<Defined>,
    /// Type observed in results; absent before the first.
    observed_type: Option<ObservedType>,
    typescript: OnceLock<String>,
    python: OnceLock<String>,
}

/// Values that depend on the definition alone, shared by versions of the tool with other observations.
struct Defined {
    definition: ToolDefinition,
    hash: OnceLock<String>,
    check: OnceLock<ArgumentCheck>,
    output_check: OnceLock<ArgumentCheck>,
}

impl Tool {
    /// Takes a definition whose parts `upstream` has bounded and cleaned.
    pub fn new(definition: ToolDefinition) -> Self {
        let defined = Defined {
            definition,
            hash: OnceLock::new(),
            check: OnceLock::new(),
            output_check: OnceLock::new(),
        };
        Self::with(Arc::new(defined), None)
    }

    /// Replaces the observations of the tool's results.
    pub fn with_observations(&self, observed: Observed) -> Self {
        Self::with(Arc::clone(&self.defined), Some(ObservedType::new(observed)))
    }

    /// The same tool with other hints: those of its server are not believed. What was observed of its results stays.
    #[must_use]
    pub fn with_annotations(&self, annotations: ToolAnnotations) -> Self {
        let defined = Defined {
            definition: ToolDefinition {
                annotations,
                ..self.definition().clone()
            },
            hash: OnceLock::from(self.hash().to_owned()),
            check: OnceLock::new(),
            output_check: OnceLock::new(),
        };
        Self {
            defined: Arc::new(defined),
            observed_type: self
                .observed()
                .map(|observed| ObservedType::new(observed.clone())),
            typescript: OnceLock::new(),
            python: OnceLock::new(),
        }
    }

    fn with(defined: Arc<Defined>, observed_type: Option<ObservedType>) -> Self {
        Self {
            defined,
            observed_type,
            typescript: OnceLock::new(),
            python: OnceLock::new(),
        }
    }

    /// The tool as its server described it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.defined.definition
    }

    /// Observations of its results under this definition.
    pub fn observed(&self) -> Option<&Observed> {
        self.observed_type.as_ref().map(ObservedType::observed)
    }

    /// Type of a call's result: the declared type, else the observed one.
    ///
    /// `None` for a tool without an output schema that was not called yet.
    pub fn output_shape(&self) -> Option<OutputShape<'_>> {
        match &self.definition().output_schema {
            Some(schema) => Some(OutputShape {
                schema,
                provenance: Provenance::Declared,
            }),
            None => self.observed_type.as_ref()?.output_shape(),
        }
    }

    /// Server and verbatim name.
    pub fn id(&self) -> &ToolId {
        &self.definition().id
    }

    /// What a call may do.
    pub fn effect(&self) -> EffectClass {
        self.definition().effect()
    }

    /// The exact callable expression, the same in every language: `tools.github.list_issues`,
    /// `tools["my-server"]["weird name"]`.
    pub fn call_expression(&self) -> String {
        names::call_expression(self.id().server.as_str(), &self.id().tool)
    }

    /// One call with input and output types, in one language, on one line of at most 5 KiB.
    ///
    /// A part that is too large or too deep becomes `unknown` or `Any` with a note, never a wrong type. The
    /// Python form parses as the head of a function, except for the dots and brackets of its name.
    pub fn signature(&self, language: Language) -> &str {
        let kept = match language {
            Language::Typescript => &self.typescript,
            Language::Python => &self.python,
        };
        kept.get_or_init(|| signature::signature(self.definition(), self.output_shape(), language))
    }

    /// The first sentence of the description, or of the title without a description. May be empty.
    pub fn summary(&self) -> String {
        let definition = self.definition();
        let text = definition
            .description
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .or(definition.title.as_deref())
            .unwrap_or_default();
        names::first_sentence(text, SENTENCE_BYTES_MAX)
    }

    /// Declaration of the tool in the syntax of `language`.
    pub fn declaration(&self, detail: Detail, language: Language) -> String {
        let (sign, gap) = match language {
            Language::Typescript => ("//", " "),
            Language::Python => ("#", "  "),
        };
        match detail {
            Detail::Brief => match self.summary() {
                summary if summary.is_empty() => self.call_expression(),
                summary => format!("{}{gap}{sign} {summary}", self.call_expression()),
            },
            Detail::Signature => match self.summary() {
                summary if summary.is_empty() => self.signature(language).to_owned(),
                summary => format!("{sign} {summary}\n{}", self.signature(language)),
            },
            Detail::Full => {
                let mut text = match language {
                    Language::Typescript => format!("/**\n{} */\n", self.comment(" * ")),
                    Language::Python => self.comment("# "),
                };
                text.push_str(&signature::declaration(
                    self.definition(),
                    self.output_shape(),
                    language,
                ));
                text
            }
        }
    }

    /// Title, description and effect as lines that start with `start`.
    pub(crate) fn comment(&self, start: &str) -> String {
        let mut text = String::new();
        let definition = self.definition();
        let effect = format!("Effect: {}.", self.effect().as_str());
        let parts = [
            definition.title.as_deref(),
            definition.description.as_deref(),
            Some(effect.as_str()),
        ];
        for part in parts.into_iter().flatten() {
            push_comment(&mut text, part, start);
        }
        text
    }

    /// SHA-256 of the definition in hexadecimal. The order of keys does not matter.
    pub fn hash(&self) -> &str {
        let Defined {
            definition, hash, ..
        } = &*self.defined;
        hash.get_or_init(|| definition_hash(definition))
    }

    /// Checks `arguments`, JSON text, against the input schema and returns the text to send.
    ///
    /// The text is rewritten without white space; numbers and the order of keys stay. Arguments of at most
    /// [`CALL_ARGS_BYTES_MAX`](limbeck_domain::limits::CALL_ARGS_BYTES_MAX) bytes and
    /// [`JSON_DEPTH_MAX`](limbeck_domain::limits::JSON_DEPTH_MAX) levels are accepted.
    /// A schema that cannot be checked within bounds is not checked; see [`Tool::unchecked`]. An error shows the
    /// call in the syntax of `language`.
    ///
    /// # Errors
    ///
    /// `InvalidArguments`, naming up to five findings and what was expected, and `LimitExceeded`.
    pub fn validate(
        &self,
        arguments: &str,
        language: Language,
    ) -> Result<CompactArguments, CallError> {
        let accepted = self.accept(arguments, language);
        accepted.map(|accepted| accepted.arguments)
    }

    /// Checks a call's arguments as [`Tool::validate`] does, and returns warnings with them.
    ///
    /// A name in another style than the schema's is written as the schema lists it, and null for an argument that is not
    /// required and does not take null is left out.
    ///
    /// # Errors
    ///
    /// Those of [`Tool::validate`].
    pub fn accept(
        &self,
        arguments: &str,
        language: Language,
    ) -> Result<AcceptedArguments, CallError> {
        self.check().accept(self.definition(), arguments, language)
    }

    /// Reason why arguments are not checked, wholly or in part; `None` when they are.
    pub fn unchecked(&self) -> Option<&str> {
        self.check().unchecked()
    }

    /// Describes how a result, as JSON text, differs from the declared output schema, without any part of the value.
    ///
    /// `None` when it matches, when no schema is declared, and for values that are not checked: those above
    /// [`CHECKED_RESULT_BYTES_MAX`](limbeck_domain::limits::CHECKED_RESULT_BYTES_MAX) and schemas whose check
    /// costs too many steps.
    pub fn contradiction(&self, value: &str) -> Option<String> {
        let Defined {
            definition,
            output_check,
            ..
        } = &*self.defined;
        let schema = definition.output_schema.as_ref()?;
        let check = output_check.get_or_init(|| ArgumentCheck::new(schema));
        check.contradiction(value)
    }

    pub(crate) fn check(&self) -> &ArgumentCheck {
        let Defined {
            definition, check, ..
        } = &*self.defined;
        check.get_or_init(|| ArgumentCheck::new(&definition.input_schema))
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tool({})", self.id())
    }
}

fn push_comment(text: &mut String, comment: &str, start: &str) {
    let comment = limbeck_domain::text::cut(comment, DESCRIPTION_SHOWN_BYTES_MAX);
    for line in comment.lines() {
        let line = names::comment_line(line, DESCRIPTION_SHOWN_BYTES_MAX);
        let _ = writeln!(text, "{}", format!("{start}{line}").trim_end());
    }
}

fn definition_hash(definition: &ToolDefinition) -> String {
    // `ToolDefinition` holds only strings, booleans and JSON values, all of which serialise.
    let value = definition
        .serialize(serde_json::value::Serializer)
        .unwrap_or(Value::Null);
    let mut hasher = Sha256::new();
    hash_value(&value, &mut hasher);
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Hashes a value with its keys in order. Every part is preceded by its kind and length, so different values never feed
/// the same bytes.
fn hash_value(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(map) => {
            let mut keys = map.keys().collect::<Vec<_>>();
            keys.sort_unstable();
            hash_head(b'o', keys.len(), hasher);
            for key in keys {
                hash_text(b'k', key, hasher);
                hash_value(&map[key], hasher);
            }
        }
        Value::Array(items) => {
            hash_head(b'a', items.len(), hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::String(text) => hash_text(b's', text, hasher),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            hash_text(b'v', &value.to_string(), hasher);
        }
    }
}

fn hash_head(kind: u8, len: usize, hasher: &mut Sha256) {
    hasher.update([kind]);
    hasher.update((len as u64).to_le_bytes());
}

fn hash_text(kind: u8, text: &str, hasher: &mut Sha256) {
    hash_head(kind, text.len(), hasher);
    hasher.update(text);
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ToolAnnotations;
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> Tool {
        Tool::new(ToolDefinition {
            id: ToolId::new("files", "read"),
            title: None,
            description: Some("Reads a file. Slowly */ sometimes.".into()),
            input_schema: schema,
            output_schema: None,
            annotations: ToolAnnotations::default(),
        })
    }

    #[test]
    fn the_hash_ignores_the_order_of_keys_and_nothing_else() {
        let one = tool(json!({"type": "object", "title": "x"}));
        let same = tool(json!({"title": "x", "type": "object"}));
        let other = tool(json!({"title": "y", "type": "object"}));
        assert_eq!(one.hash(), same.hash());
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash().len(), 64);
    }

    #[test]
    fn each_detail_contains_more_than_the_one_before() {
        let tool = tool(
            json!({"type": "object", "properties": {"path": {"type": "string", "description": "Where."}}}),
        );
        assert_eq!(
            tool.declaration(Detail::Brief, Language::Typescript),
            "tools.files.read // Reads a file."
        );
        let signature = tool.declaration(Detail::Signature, Language::Typescript);
        assert!(
            signature.starts_with("// Reads a file.\ntools.files.read(args?: { path?: string })"),
            "{signature}"
        );
        let full = tool.declaration(Detail::Full, Language::Typescript);
        assert!(full.contains("Slowly *\\/ sometimes."), "{full}");
        assert!(full.contains("/** Where. */"), "{full}");
    }
}
