export function outer(x: i32): i32 {
  return inner(x + 1) * 2;
}
function inner(x: i32): i32 {
  if (x > 3) unreachable();
  return load<i32>(x) + 1;
}
