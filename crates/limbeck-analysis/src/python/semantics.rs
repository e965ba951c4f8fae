//! Syntax errors that Python reports after parsing: `break` outside of loops, `await` in a plain function, a parameter
//! named twice.
//!
//! The parser's crate has the rules; this module tracks the scope of each node. At the top level of a program
//! `await` and `return` are allowed.

use std::cell::Cell;
use std::collections::HashMap;
use std::mem;

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, ModModule, Parameters, PythonVersion, Stmt, StmtFunctionDef,
};
use ruff_python_parser::semantic_errors::{
    LazyImportContext, SemanticSyntaxChecker, SemanticSyntaxContext, SemanticSyntaxError,
    SemanticSyntaxErrorKind,
};
use ruff_text_size::{Ranged, TextRange};

/// Whether Python accepts what was parsed from `text`.
pub(super) fn are_right(module: &ModModule, text: &str) -> bool {
    let mut visitor = Visitor {
        text,
        checker: SemanticSyntaxChecker::new(),
        scopes: vec![Scope::of(Kind::Module, &module.body)],
        is_wrong: Cell::new(false),
    };
    for statement in &module.body {
        visitor.visit_stmt(statement);
    }
    !visitor.is_wrong.get()
}

struct Visitor<'a> {
    text: &'a str,
    checker: SemanticSyntaxChecker,
    /// From the module to the innermost.
    scopes: Vec<Scope<'a>>,
    is_wrong: Cell<bool>,
}

struct Scope<'a> {
    kind: Kind<'a>,
    /// Loops of the scope around the node.
    loops: usize,
    /// Names it declares global, and where.
    globals: HashMap<&'a str, TextRange>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind<'a> {
    Module,
    Class,
    Function {
        is_async: bool,
        parameters: &'a Parameters,
    },
    Lambda(Option<&'a Parameters>),
    Comprehension {
        is_async: bool,
    },
    Generator,
}

impl<'a> Scope<'a> {
    fn new(kind: Kind<'a>) -> Self {
        Self {
            kind,
            loops: 0,
            globals: HashMap::new(),
        }
    }

    fn of(kind: Kind<'a>, body: &'a [Stmt]) -> Self {
        let mut globals = Globals::default();
        globals.visit_body(body);
        Self {
            globals: globals.0,
            ..Self::new(kind)
        }
    }
}

/// Names that a body declares global, those of inner scopes left out.
#[derive(Default)]
struct Globals<'a>(HashMap<&'a str, TextRange>);

impl<'a> StatementVisitor<'a> for Globals<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Global(node) => {
                let names = node.names.iter();
                self.0.extend(names.map(|name| (&*name.id, name.range())));
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

impl<'a> Visitor<'a> {
    fn within(&mut self, scope: Scope<'a>, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        visit(self);
        self.scopes.pop();
    }

    fn scope(&self) -> &Scope<'a> {
        self.scopes
            .last()
            .expect("the module's scope is never left")
    }

    fn kind(&self) -> Kind<'a> {
        self.scope().kind
    }

    /// The innermost scope that is not the scope of a comprehension.
    fn around_comprehensions(&self) -> Kind<'a> {
        let mut kinds = self.scopes.iter().rev().map(|scope| scope.kind);
        let kind = kinds.find(|kind| !matches!(kind, Kind::Comprehension { .. } | Kind::Generator));
        kind.unwrap_or(Kind::Module)
    }

    fn visit_function(&mut self, function: &'a StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        let kind = Kind::Function {
            is_async: function.is_async,
            parameters: &function.parameters,
        };
        // Defaults and annotations are evaluated outside.
        self.visit_parameters(&function.parameters);
        if let Some(annotation) = &function.returns {
            self.visit_annotation(annotation);
        }
        let scope = Scope::of(kind, &function.body);
        self.within(scope, |visitor| visitor.visit_body(&function.body));
    }

    /// A loop's own body, and what comes when it has ended.
    fn visit_loop(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.scopes.last_mut().expect("see `scope`").loops += 1;
        self.visit_body(body);
        self.scopes.last_mut().expect("see `scope`").loops -= 1;
        self.visit_body(orelse);
    }

    fn visit_comprehension_of(
        &mut self,
        items: &[&'a Expr],
        generators: &'a [Comprehension],
        kind: Kind<'a>,
    ) {
        // Its first list is evaluated outside.
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.within(Scope::new(kind), |visitor| {
            for (number, generator) in generators.iter().enumerate() {
                visitor.visit_expr(&generator.target);
                if number > 0 {
                    visitor.visit_expr(&generator.iter);
                }
                for condition in &generator.ifs {
                    visitor.visit_expr(condition);
                }
            }
            for item in items {
                visitor.visit_expr(item);
            }
        });
    }
}

impl<'a> SourceOrderVisitor<'a> for Visitor<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let mut checker = mem::take(&mut self.checker);
        checker.visit_stmt(statement, self);
        self.checker = checker;
        match statement {
            Stmt::FunctionDef(function) => self.visit_function(function),
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                let scope = Scope::of(Kind::Class, &class.body);
                self.within(scope, |visitor| visitor.visit_body(&class.body));
            }
            Stmt::For(each) => {
                self.visit_expr(&each.iter);
                self.visit_expr(&each.target);
                self.visit_loop(&each.body, &each.orelse);
            }
            Stmt::While(node) => {
                self.visit_expr(&node.test);
                self.visit_loop(&node.body, &node.orelse);
            }
            Stmt::Try(node) => {
                // No rule of the parser's: only the last handler may catch everything.
                let earlier = node.handlers.iter().rev().skip(1);
                let mut earlier = earlier.map(|ExceptHandler::ExceptHandler(handler)| handler);
                if earlier.any(|handler| handler.type_.is_none()) {
                    self.is_wrong.set(true);
                }
                walk_stmt(self, statement);
            }
            _ => walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let mut checker = mem::take(&mut self.checker);
        checker.visit_expr(expression, self);
        self.checker = checker;
        match expression {
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref();
                if let Some(parameters) = parameters {
                    self.visit_parameters(parameters);
                }
                self.within(Scope::new(Kind::Lambda(parameters)), |visitor| {
                    visitor.visit_expr(&lambda.body);
                });
            }
            Expr::ListComp(node) => {
                let kind = comprehension(&node.generators);
                self.visit_comprehension_of(&[&node.elt], &node.generators, kind);
            }
            Expr::SetComp(node) => {
                let kind = comprehension(&node.generators);
                self.visit_comprehension_of(&[&node.elt], &node.generators, kind);
            }
            Expr::DictComp(node) => {
                let kind = comprehension(&node.generators);
                let key = node.key.iter().map(|key| &**key);
                let items: Vec<&Expr> = key.chain([&*node.value]).collect();
                self.visit_comprehension_of(&items, &node.generators, kind);
            }
            Expr::Generator(node) => {
                self.visit_comprehension_of(&[&node.elt], &node.generators, Kind::Generator);
            }
            _ => walk_expr(self, expression),
        }
    }
}

fn comprehension<'a>(generators: &[Comprehension]) -> Kind<'a> {
    Kind::Comprehension {
        is_async: generators.iter().any(|generator| generator.is_async),
    }
}

impl SemanticSyntaxContext for Visitor<'_> {
    fn future_annotations_or_stub(&self) -> bool {
        // All annotations are lazy in the guest's version.
        true
    }

    fn lazy_import_context(&self) -> Option<LazyImportContext> {
        None
    }

    fn python_version(&self) -> PythonVersion {
        super::VERSION
    }

    fn source(&self) -> &str {
        self.text
    }

    fn global(&self, name: &str) -> Option<TextRange> {
        self.scope().globals.get(name).copied()
    }

    fn has_nonlocal_binding(&self, _name: &str) -> bool {
        // Whether one of the functions around binds it is left to the guest.
        let around = self.scopes.iter().rev().skip(1);
        around
            .into_iter()
            .any(|scope| matches!(scope.kind, Kind::Function { .. } | Kind::Lambda(_)))
    }

    fn in_async_context(&self) -> bool {
        match self.around_comprehensions() {
            Kind::Function { is_async, .. } => is_async,
            kind => kind == Kind::Module,
        }
    }

    fn in_await_allowed_context(&self) -> bool {
        self.around_comprehensions() != Kind::Class
    }

    fn in_yield_allowed_context(&self) -> bool {
        matches!(self.kind(), Kind::Function { .. } | Kind::Lambda(_))
    }

    fn in_sync_comprehension(&self) -> bool {
        let inside = self.scopes.iter().rev().map(|scope| scope.kind);
        inside
            .take_while(|kind| matches!(kind, Kind::Comprehension { .. } | Kind::Generator))
            .any(|kind| kind == Kind::Comprehension { is_async: false })
    }

    fn in_class_body_comprehension(&self) -> bool {
        self.around_comprehensions() == Kind::Class
    }

    fn in_module_scope(&self) -> bool {
        self.kind() == Kind::Module
    }

    fn in_function_scope(&self) -> bool {
        matches!(self.kind(), Kind::Function { .. })
    }

    fn in_generator_context(&self) -> bool {
        self.kind() == Kind::Generator
    }

    fn in_notebook(&self) -> bool {
        false
    }

    fn report_semantic_error(&self, error: SemanticSyntaxError) {
        let is_allowed = matches!(error.kind, SemanticSyntaxErrorKind::ReturnOutsideFunction)
            && self.kind() == Kind::Module;
        if !is_allowed {
            self.is_wrong.set(true);
        }
    }

    fn in_loop_context(&self) -> bool {
        self.scope().loops > 0
    }

    fn is_bound_parameter(&self, name: &str) -> bool {
        match self.kind() {
            Kind::Function { parameters, .. } => parameters.includes(name),
            Kind::Lambda(parameters) => parameters.is_some_and(|all| all.includes(name)),
            _ => false,
        }
    }
}
