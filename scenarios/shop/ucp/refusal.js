// Why something is not done: a code for programs and a sentence for whoever reads it.

export class Refusal extends Error {
  /** `path` names what is wrong in the document that is answered, as a JSONPath. */
  constructor(code, content, path) {
    super(content);
    this.code = code;
    this.path = path;
  }
}
