// value: {"bytes":true,"sha1":"a9993e364706816aba3e25717850c26c9cd0d89d","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","sha384":48,"sha512":64,"error":"NotSupportedError"}
const abc = new TextEncoder().encode("abc");
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const values = crypto.getRandomValues(new Uint32Array(8));
return {
  bytes: values.some((value) => value !== 0),
  sha1: hex(await crypto.subtle.digest("SHA-1", abc)),
  sha256: hex(await crypto.subtle.digest({ name: "sha-256" }, abc.buffer)),
  sha384: (await crypto.subtle.digest("SHA-384", abc)).byteLength,
  sha512: (await crypto.subtle.digest("SHA-512", new DataView(abc.buffer))).byteLength,
  error: await crypto.subtle.digest("MD5", abc).catch((error) => error.name),
};
