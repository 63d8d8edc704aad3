public import ProviderProtocol

/// A kind of tunnel: Network Extension's `NEPacketTunnelProvider`, on Linux.
///
/// A provider is a program of its own without privileges. The agent starts it, gives it the TUN device and sockets to the outside, and sets
/// addresses, routes and name servers itself. All functions are called on one thread, one at a time; none may block.
///
/// A start is over when the provider calls `host.ready()`, `host.fail(_:)` or, after `stop(_:)`, `host.stopped()`. The host then closes the
/// flow, the sockets and the timers of a run that has ended. One value serves all runs of its program.
public protocol TunnelProvider: AnyObject {
  /// Makes the provider. Nothing runs yet; messages may come before the first start.
  init(host: ProviderHost)

  /// Starts the tunnel. A usual order: open a socket, sign in, apply settings, open the device, `host.ready()`.
  func start(_ request: StartRequest)

  /// Stops the tunnel. Call `host.stopped()` when the server knows, at the latest after 20 seconds.
  func stop(_ reason: StopReason)

  /// A message of an application, also while nothing runs. Reply once; without a reply the application gets an error after its own limit.
  /// By default the reply is the refusal `unsupported`.
  func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void)

  /// The machine goes to sleep in a few seconds. Call `done` when it may. By default it is called at once.
  func sleep(done: @escaping () -> Void)

  /// The machine is awake.
  func wake()

  /// The network below the tunnel is another one; `nil`: there is none. Open sockets of the old network may be dead.
  func networkChanged(_ path: NetworkPath?)
}

extension TunnelProvider {
  public func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    reply(.failure(Refusal(code: "unsupported", text: "this provider takes no messages")))
  }

  public func sleep(done: @escaping () -> Void) { done() }

  public func wake() {}

  public func networkChanged(_ path: NetworkPath?) {}
}
