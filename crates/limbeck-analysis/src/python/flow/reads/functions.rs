//! Functions that get a part of a result: those of the language, lambdas, and functions with a name.

use ruff_python_ast::{Expr, ExprCall, ExprContext, Keyword, Parameters};
use ruff_text_size::Ranged;

use super::FoundReads;
use crate::python::flow::CallFlow;
use crate::python::names::{name_of, text};
use crate::python::tree::{NodeId, id};
use crate::result_part::{PartForm, ResultPart};

impl<'a> CallFlow<'_, 'a> {
    /// Follows a part that is an argument of a function, and returns what the function gives of it.
    pub(super) fn passed(
        &self,
        call: &'a ExprCall,
        node: NodeId,
        part: ResultPart,
        found: &mut FoundReads,
    ) -> Option<ResultPart> {
        let arguments = &call.arguments;
        let place = arguments.args.iter().position(|item| id(item) == node)?;
        if arguments.args[..place].iter().any(Expr::is_starred_expr) {
            return None;
        }
        if let Expr::Attribute(function) = &*call.func
            && place == 0
            && name_of(&function.value) == Some("json")
            && self.facts.times_bound("json") <= 1
        {
            return match &*function.attr.id {
                "loads" => part.parsed(),
                "dumps" => part.into_form(PartForm::Json),
                _ => None,
            };
        }
        let name = name_of(&call.func)?;
        if self.facts.times_bound(name) > 0 {
            self.bind_parameter(&call.func, place, &part, found);
            return None;
        }
        match (name, place) {
            ("hasattr" | "getattr", 0) if part.is_itself() => {
                let asked = arguments.args.get(1)?;
                let part = part.named(text(asked)?);
                if name == "getattr" && arguments.args.len() == 2 {
                    self.note(id(call), ExprContext::Load, asked.start(), &part, found);
                    return Some(part);
                }
                self.note_optional(id(call), asked.start(), &part, found);
                (name == "getattr").then(|| part.shared())
            }
            ("isinstance" | "type" | "dir" | "vars", 0) if part.is_itself() => {
                found.asked.push(part.path);
                None
            }
            ("sorted" | "max" | "min", 0) => {
                let mut words = arguments.keywords.iter();
                let key = words.find(|word| word.arg.as_ref().is_some_and(|name| name.id == "key"));
                if let (Some(key), Some(item)) = (key, part.clone().item(None)) {
                    self.bind_parameter(&key.value, 0, &item, found);
                }
                let is_default =
                    |word: &Keyword| word.arg.as_ref().is_some_and(|name| name.id == "default");
                match (name, arguments.args.len()) {
                    ("sorted", _) => Some(part),
                    (_, 1) if arguments.keywords.iter().any(is_default) => part.shared().item(None),
                    (_, 1) => part.item(None),
                    _ => None,
                }
            }
            ("map" | "filter", 1) => {
                if let Some(item) = part.clone().item(None) {
                    self.bind_parameter(&arguments.args[0], 0, &item, found);
                }
                (name == "filter").then_some(part)
            }
            ("list" | "tuple" | "reversed" | "iter", 0) => Some(part),
            ("next", 0) if arguments.args.len() > 1 => part.shared().item(None),
            ("next", 0) => part.item(None),
            ("enumerate", 0) => part.into_form(PartForm::Entries),
            _ => None,
        }
    }

    /// Follows a parameter of a function that is written down here, or under a name.
    fn bind_parameter(
        &self,
        function: &'a Expr,
        place: usize,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        let name = match function {
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref();
                return self.bind_one_of(id(lambda), parameters, place, part, found);
            }
            function => name_of(function).filter(|name| self.facts.times_bound(name) == 1),
        };
        let Some(name) = name else {
            return;
        };
        // Another use of the function may give it another value.
        let part = match self.tree.uses(name).len() {
            0 | 1 => part.clone(),
            _ => part.clone().shared(),
        };
        if let Some(function) = self.facts.functions.get(name) {
            if function.decorator_list.is_empty() {
                let parameters = Some(&*function.parameters);
                self.bind_one_of(id(*function), parameters, place, &part, found);
            }
        } else if let Some(lambda) = self.facts.lambdas.get(name) {
            let parameters = lambda.parameters.as_deref();
            self.bind_one_of(id(*lambda), parameters, place, &part, found);
        }
    }

    fn bind_one_of(
        &self,
        function: NodeId,
        parameters: Option<&Parameters>,
        place: usize,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        let Some(parameters) = parameters else {
            return;
        };
        let mut named = parameters.posonlyargs.iter().chain(&parameters.args);
        if let Some(parameter) = named.nth(place)
            && parameter.default.is_none()
        {
            self.bind_name_in(function, &parameter.parameter.name.id, part, found);
        }
    }
}
