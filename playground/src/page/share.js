// A state as compressed JSON for the fragment of a link, which is not sent to a server.

/**
 * Returns bytes after a transformation.
 *
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {CompressionStream | DecompressionStream} transform
 */
async function through(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Returns a value as characters that an address may contain.
 *
 * @param {unknown} value
 */
export async function pack(value) {
  const plain = new TextEncoder().encode(JSON.stringify(value));
  const bytes = await through(plain, new CompressionStream("deflate-raw"));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * Returns the value of such characters.
 *
 * @param {string} text
 */
export async function unpack(text) {
  const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
}
