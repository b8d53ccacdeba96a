// A field for a key. A browser offers to save what is typed into a password field, whatever `autocomplete` says; so this
// is a text field whose characters the style sheet hides.

export const secretAttributes = { type: 'text', class: 'secret', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };

// Makes an input that exists a field for a key, or an ordinary one of this type.
export function setSecret(input, isSecret, type) {
    input.type = isSecret ? 'text' : type;
    input.classList.toggle('secret', isSecret);
}
