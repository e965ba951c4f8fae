//! Decision whether a read of a resource or prompt may be sent to a server.

use limbeck_domain::{CompactArguments, ReadMethod, ServerName, ToolId};
use serde_json::{Map, Value};

use crate::policy::Answer;
use crate::{Denied, Facts, Question, Subject, Ticket, ToolCall, ToolClass};

/// One read of a resource, prompt or completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The server.
    pub server: ServerName,
    /// The method.
    pub method: ReadMethod,
    /// JSON text of the params, an object.
    pub params: String,
}

/// Proof that one read was allowed. Only this module creates one.
#[derive(Debug)]
#[must_use = "a permit is spent by sending the request it was issued for"]
pub struct ReadPermit {
    request: ReadRequest,
}

impl ReadPermit {
    /// The request that was allowed.
    pub fn request(&self) -> &ReadRequest {
        &self.request
    }

    /// The permit for the next page of the same list, by the cursor that its server gave. A read that is no list has no next
    /// page and stays as it is.
    pub fn next_page(self, cursor: &str) -> Self {
        let request = self.request;
        Self {
            request: request.next_page(cursor).unwrap_or(request),
        }
    }

    /// Spends the permit and returns the request, to be sent once.
    pub fn spend(self) -> ReadRequest {
        self.request
    }
}

impl ReadRequest {
    /// The request for the next page of a list; `None` for what is no list.
    pub fn next_page(&self, cursor: &str) -> Option<Self> {
        match self.method {
            ReadMethod::ListResources
            | ReadMethod::ListResourceTemplates
            | ReadMethod::ListPrompts => {}
            ReadMethod::ReadResource | ReadMethod::GetPrompt | ReadMethod::Complete => return None,
        }
        let mut params: Map<String, Value> = serde_json::from_str(&self.params).ok()?;
        params.insert("cursor".to_owned(), cursor.into());
        Some(Self {
            params: Value::Object(params).to_string(),
            ..self.clone()
        })
    }
}

/// Decision about a read that may be asked about.
#[derive(Debug)]
pub enum DecidedRead {
    /// The request may be sent.
    Permit(ReadPermit),
    /// A person has to approve it first.
    Ask(Box<ReadQuestion>),
}

/// A read that a person has to approve before it is sent. It is asked about as a call of a tool is whose name is that of the
/// method and whose arguments are the params. It gives the request away only as a permit for a read.
#[derive(Debug)]
#[must_use = "a question is shown to a person, or its read is refused"]
pub struct ReadQuestion {
    request: ReadRequest,
    question: Question,
}

impl ReadQuestion {
    /// What a person is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The permit, when `ticket` is that of this very read, and the question again when anything differs. The caller checks
    /// that those who approved may do so.
    pub fn approved(self: Box<Self>, ticket: &Ticket, pin: Option<&str>) -> DecidedRead {
        if self.question.ticket(pin) == *ticket {
            return DecidedRead::Permit(ReadPermit {
                request: self.request,
            });
        }
        DecidedRead::Ask(self)
    }

    /// The same refusal as that of a caller that cannot ask.
    pub fn into_denied(self) -> Denied {
        self.question.into_denied()
    }
}

/// Allows `request` when the scope covers its method as if it were a tool of the server, and the policy allows that tool: the
/// patterns `files` and `files.*` cover it, `files.resources/*` does for resources alone, and `files.read_file` does not. For
/// callers that cannot ask; others use [`decide_read_or_ask`].
///
/// # Errors
///
/// [`Denied`].
pub fn decide_read(request: ReadRequest, facts: &Facts<'_>) -> Result<ReadPermit, Denied> {
    match decide_read_or_ask(request, facts)? {
        DecidedRead::Permit(permit) => Ok(permit),
        DecidedRead::Ask(question) => Err(question.into_denied()),
    }
}

/// Decides about `request` as [`decide_read`] does: it may be sent, a person is asked first, or it is denied.
///
/// # Errors
///
/// [`Denied`]. Also for params that are not one object with each key once: what a person is shown would not be what the server
/// reads.
pub fn decide_read_or_ask(request: ReadRequest, facts: &Facts<'_>) -> Result<DecidedRead, Denied> {
    let tool = ToolId::new(request.server.clone(), request.method.as_str());
    facts.scope.allows(&tool)?;
    let class = ToolClass::READ_METHOD;
    match answer(&tool, &request, facts) {
        Answer::Allow => Ok(DecidedRead::Permit(ReadPermit { request })),
        Answer::Ask(asked) => {
            let Ok((arguments, _)) = CompactArguments::parse(&request.params) else {
                return Err(Denied::needs_approval(tool, asked.cause));
            };
            let request = ReadRequest {
                // The bytes that are shown are those that are sent.
                params: arguments.as_str().to_owned(),
                ..request
            };
            let call = ToolCall {
                tool,
                arguments,
                effect: class.class,
            };
            Ok(DecidedRead::Ask(Box::new(ReadQuestion {
                request,
                question: Question::about(call, class, asked),
            })))
        }
        Answer::Deny(cause) => Err(Denied::by_policy(tool, cause)),
    }
}

/// What the policy says about a read. A completion returns what its server knows of resources or prompts, so it is also judged as
/// `resources/complete` or `prompts/complete`: the stricter answer counts.
fn answer(tool: &ToolId, request: &ReadRequest, facts: &Facts<'_>) -> Answer {
    let by_name = |tool: &ToolId| {
        let class = ToolClass::READ_METHOD;
        let Facts { policy, who, .. } = facts;
        policy.answer(tool, class, &request.params, who, Subject::Read)
    };
    let names = completed(request).iter();
    names.fold(by_name(tool), |so_far, name| {
        let of_reference = by_name(&ToolId::new(request.server.clone(), *name));
        match (so_far, of_reference) {
            (Answer::Deny(cause), _) | (_, Answer::Deny(cause)) => Answer::Deny(cause),
            (Answer::Ask(one), Answer::Ask(other)) => Answer::Ask(one.together(other)),
            (Answer::Ask(asked), Answer::Allow) | (Answer::Allow, Answer::Ask(asked)) => {
                Answer::Ask(asked)
            }
            (Answer::Allow, Answer::Allow) => Answer::Allow,
        }
    })
}

/// Names by which a completion is judged beside its own: both where its reference is not known.
fn completed(request: &ReadRequest) -> &'static [&'static str] {
    if request.method != ReadMethod::Complete {
        return &[];
    }
    let params = CompactArguments::parse(&request.params);
    let of_type = params
        .as_ref()
        .ok()
        .map(|(_, params)| &params["ref"]["type"]);
    match of_type.and_then(Value::as_str) {
        Some("ref/resource") => &["resources/complete"],
        Some("ref/prompt") => &["prompts/complete"],
        _ => &["resources/complete", "prompts/complete"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Effect, Layer, Preset, Rule, RuleSet};
    use crate::{Policy, Scope};

    #[test]
    fn a_scope_of_single_tools_covers_no_resource_and_one_of_the_server_does() {
        let read = |pattern: &str, method| {
            let request = ReadRequest {
                server: "files".into(),
                method,
                params: "{}".to_owned(),
            };
            let facts = Facts {
                scope: &Scope::parse([pattern]).unwrap(),
                policy: &Policy::default(),
                who: &[],
                now_us: 0,
            };
            decide_read(request, &facts).is_ok()
        };
        for pattern in [
            "*",
            "files",
            "files.*",
            "files.resources/*",
            "mcp__files__*",
        ] {
            assert!(read(pattern, ReadMethod::ReadResource), "{pattern}");
        }
        for pattern in [
            "files.read_file",
            "files.r*_file",
            "other",
            "files.prompts/*",
        ] {
            assert!(!read(pattern, ReadMethod::ReadResource), "{pattern}");
        }
        assert!(!read("files.resources/*", ReadMethod::GetPrompt));
    }

    fn request(method: ReadMethod, params: &str) -> ReadRequest {
        ReadRequest {
            server: "files".into(),
            method,
            params: params.to_owned(),
        }
    }

    fn asking(pattern: &str) -> Policy {
        let rule = Rule {
            id: "reads".to_owned(),
            effect: Effect::Ask,
            tools: Scope::parse([pattern]).unwrap(),
            except: None,
            classes: None,
            arguments: Vec::new(),
            who: None,
            reason: None,
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: "limbeck.toml:1".to_owned(),
        };
        Policy {
            rules: RuleSet::new(vec![rule], &[], Preset::Observe).unwrap(),
            ..Policy::default()
        }
    }

    fn decided(request: ReadRequest, policy: &Policy) -> Result<DecidedRead, Denied> {
        let facts = Facts {
            scope: &Scope::everything(),
            policy,
            who: &[],
            now_us: 0,
        };
        decide_read_or_ask(request, &facts)
    }

    fn question(request: ReadRequest, policy: &Policy) -> Box<ReadQuestion> {
        match decided(request, policy) {
            Ok(DecidedRead::Ask(question)) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_approval_of_a_read_is_for_its_method_and_its_bytes() {
        let policy = asking("files.*");
        let of = |method, params: &str| question(request(method, params), &policy);
        let read = ReadMethod::ReadResource;
        let ticket = of(read, r#"{"uri":"note:1"}"#)
            .question()
            .ticket(Some("pin"));
        for (method, params, pin) in [
            (read, r#"{"uri":"note:2"}"#, "pin"),
            (ReadMethod::GetPrompt, r#"{"uri":"note:1"}"#, "pin"),
            (read, r#"{"uri":"note:1"}"#, "other"),
        ] {
            let again = of(method, params).approved(&ticket, Some(pin));
            assert!(
                matches!(again, DecidedRead::Ask(_)),
                "{method} {params} {pin}"
            );
        }
        // The control: what is sent is what the person was shown, without the white space.
        let same = of(read, r#"{ "uri": "note:1" }"#).approved(&ticket, Some("pin"));
        let DecidedRead::Permit(permit) = same else {
            panic!("the approved read is allowed");
        };
        assert_eq!(permit.spend(), request(read, r#"{"uri":"note:1"}"#));
        // A key given twice would show one resource and read another.
        let twice = request(read, r#"{"uri":"note:1","uri":"note:2"}"#);
        assert!(decided(twice, &policy).is_err());
        // A caller that cannot ask is refused as before, and a rule about prompts is not about resources.
        let facts = Facts {
            scope: &Scope::everything(),
            policy: &policy,
            who: &[],
            now_us: 0,
        };
        let params = r#"{"uri":"note:1"}"#;
        assert!(decide_read(request(read, params), &facts).is_err());
        let prompts = decided(request(read, params), &asking("files.prompts/*"));
        assert!(matches!(prompts, Ok(DecidedRead::Permit(_))));
    }

    #[test]
    fn only_a_list_has_a_next_page() {
        let of = |method, params: &str| request(method, params).next_page("c2");
        let next = of(ReadMethod::ListResources, r#"{"cursor":"c1"}"#).unwrap();
        assert_eq!(next.params, r#"{"cursor":"c2"}"#);
        assert_eq!(of(ReadMethod::ReadResource, r#"{"uri":"note:1"}"#), None);
        assert_eq!(of(ReadMethod::ListPrompts, "[]"), None);
    }

    #[test]
    fn a_completion_is_judged_by_what_it_refers_to() {
        let complete = |reference: &str, policy: &Policy| {
            let params = format!(r#"{{"ref":{reference},"argument":{{"name":"x","value":"a"}}}}"#);
            decided(request(ReadMethod::Complete, &params), policy)
        };
        let resource = r#"{"type":"ref/resource","uri":"note:{x}"}"#;
        let prompt = r#"{"type":"ref/prompt","name":"p"}"#;
        let other = r#"{"type":"ref/other"}"#;
        let is_asked = |answer| matches!(answer, Ok(DecidedRead::Ask(_)));
        let is_sent = |answer| matches!(answer, Ok(DecidedRead::Permit(_)));
        for (pattern, of_resource, of_prompt) in [
            ("files.resources/*", true, false),
            ("files.prompts/*", false, true),
            ("files.completion/complete", true, true),
        ] {
            let policy = asking(pattern);
            assert_eq!(
                is_asked(complete(resource, &policy)),
                of_resource,
                "{pattern}"
            );
            assert_eq!(is_asked(complete(prompt, &policy)), of_prompt, "{pattern}");
            assert!(is_asked(complete(other, &policy)), "{pattern}");
        }
        // The controls: rules about single reads and about other servers.
        for pattern in ["files.resources/read", "mail.resources/*"] {
            let policy = asking(pattern);
            assert!(is_sent(complete(resource, &policy)), "{pattern}");
        }
        let twice = r#"{"type":"ref/prompt"},"ref":{"type":"ref/resource"}"#;
        assert!(complete(twice, &asking("files.resources/*")).is_err());
    }
}
