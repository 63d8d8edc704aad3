/// A peer's slot in the engine. Slots are reused after a peer is removed; `EngineEffect.removed` reports that first.
package struct PeerIndex: Hashable, Sendable {
  package let slot: Int32

  package init(slot: Int32) { self.slot = slot }
}
