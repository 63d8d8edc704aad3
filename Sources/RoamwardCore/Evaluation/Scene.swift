/// What one decision looks at: the snapshot, and its primary link picked out once.
struct Scene {
  let snapshot: NetworkSnapshot
  let link: LinkFacts

  /// `nil` without a network: then there is nothing to judge.
  init?(_ snapshot: NetworkSnapshot) {
    guard let link = snapshot.primaryLink else { return nil }
    self.snapshot = snapshot
    self.link = link
  }
}
