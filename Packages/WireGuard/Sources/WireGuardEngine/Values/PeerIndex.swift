/// A peer's place in the engine. Places are used again after a peer is removed; `EngineEffect.removed` says so first.
package struct PeerIndex: Hashable, Sendable {
  package let slot: Int32

  package init(slot: Int32) { self.slot = slot }
}
