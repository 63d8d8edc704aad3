/// The effects of a machine that are not carried out yet, in the order of their events. An event that comes while one of them is carried
/// out adds its own at the end.
struct EffectQueue<Effect> {
  private var effects: [Effect] = []
  private var isBusy = false

  /// Adds effects. Returns whether the caller carries them out now, by `next` until there is none.
  mutating func add(_ new: [Effect]) -> Bool {
    effects += new
    defer { isBusy = true }
    return !isBusy
  }

  mutating func next() -> Effect? {
    isBusy = !effects.isEmpty
    return isBusy ? effects.removeFirst() : nil
  }
}
