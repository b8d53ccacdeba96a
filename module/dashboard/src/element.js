// element('td', { class: 'text' }, 'free'): made without any HTML being parsed.
export function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
        if (value !== undefined && value !== null) made.setAttribute(attribute, value);
    }
    made.append(...children);
    return made;
}

// Changes a text only where it differs, so that a selection stays and nothing is announced anew.
export function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}
