// element('td', { class: 'text' }, 'free'): creates an element without parsing HTML.
export function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
        if (value !== undefined && value !== null) made.setAttribute(attribute, value);
    }
    made.append(...children);
    return made;
}

// Changes a text only if it differs, so that a selection is kept and screen readers announce nothing twice.
export function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}
