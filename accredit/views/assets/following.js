export function follow(root) {}
