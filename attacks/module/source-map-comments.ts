// attack: comments that name a source map or a source, to have a file fetched or a false place reported
// property: S55
// expect: error exception
// message: the place is mine
//# sourceMappingURL=file:///etc/passwd
//# sourceURL=/root/.cargo/registry/x.js
/*# sourceMappingURL=http://127.0.0.1:9/x.map */
throw new Error("the place is mine");
//# sourceMappingURL=data:application/json;base64,e30=
