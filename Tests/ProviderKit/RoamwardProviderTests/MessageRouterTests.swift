import JSON
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import Testing

@Suite struct MessageRouterTests {
  @Test("all handlers of a type run in their order; their number is returned") func several() {
    let router = MessageRouter()
    var order: [String] = []
    router.on("state") { value, _ in order.append("one \(value.text())") }
    router.on("state") { _, _ in order.append("two") }
    router.on("other") { _, _ in order.append("other") }
    #expect(router.route(.typed("state", 1)) { _ in } == 2 && order == ["one 1", "two"] && router.types == ["other", "state"])
  }

  @Test("removal is of one handler, or of all of a type") func removal() {
    let router = MessageRouter()
    let first = router.on("state") { _, reply in reply(.success(.typed("state", 1))) }
    router.on("state") { _, reply in reply(.success(.typed("state", 2))) }
    router.remove(first)
    router.remove(first)
    var replies: [MessageReply] = []
    #expect(router.route(.typed("state", .null)) { replies.append($0) } == 1 && replies == [.success(.typed("state", 2))])
    router.removeAll("state")
    #expect(router.route(.typed("state", .null)) { replies.append($0) } == 0 && router.types.isEmpty)
  }

  @Test("a type without handler, and bytes, get a refusal that says what is known") func unknown() {
    let router = MessageRouter()
    router.on("state") { _, _ in }
    var replies: [MessageReply] = []
    router.route(.typed("colour", .null)) { replies.append($0) }
    router.route(.bytes([1])) { replies.append($0) }
    let texts = replies.map { if case .failure(let refusal) = $0 { "\(refusal.code): \(refusal.text)" } else { "" } }
    #expect(
      texts == [
        "unknown-type: this provider does not know colour, but state", "unknown-type: this provider takes messages with a type: state",
      ])
  }

  @Test("of two replies the application gets the first") func first() {
    let (host, provider) = HostTests.connected()
    let router = MessageRouter()
    router.on("state") { _, reply in reply(.success(.typed("state", 1))) }
    router.on("state") { _, reply in reply(.success(.typed("state", 2))) }
    provider.onMessage = { router.route($0, reply: $1) }
    let id = host.send(.typed("state", .null))
    #expect(host.replies[id] == .success(.typed("state", 1)) && host.violations.isEmpty)
  }
}
