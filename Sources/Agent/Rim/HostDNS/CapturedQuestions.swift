internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NameProtocol
package import NetworkTypes

/// A redirected question, by the addresses that our name server sees.
package struct RedirectedFlow: Equatable, Sendable {
  package let client: IPAddress
  package let clientPort: UInt16
  package let listener: IPAddress
  package let listenerPort: UInt16
  /// TCP; otherwise UDP.
  package let isStream: Bool

  package init(client: IPAddress, clientPort: UInt16, listener: IPAddress, listenerPort: UInt16, isStream: Bool) {
    self.client = client
    self.clientPort = clientPort
    self.listener = listener
    self.listenerPort = listenerPort
    self.isStream = isStream
  }
}

/// The sockets of our name server for redirected questions: captured ones (`names: capture`), with the servers that those were sent to, and
/// those of programs with a route of their own.
struct CapturedQuestions {
  private struct Place: Hashable {
    let address: IPAddress
    /// The link that the socket is bound to; `nil` for programs of this host.
    let link: String?
    let device: DeviceIdentity?
    let isStream: Bool
    let port: UInt16
    let askers: NameAskers
  }

  /// Numbers that other sockets do not have.
  private static let firstNumber: UInt16 = 1000
  private static let mostServers = 64
  /// Of all sockets, two are for programs that resolv.conf leads here, and four for each route.
  private static let mostCaptured = NameLimits.listeners - 2 - 4 * (Int(ProgramNames.mostRoutes) + 1)

  private var places: [UInt16: Place] = [:]
  private var next = firstNumber
  /// The servers that were found last; questions to them may have to be asked over TCP.
  private(set) var servers: [IPAddress] = []

  /// The messages that hand these sockets over, and close others. Questions wait in an open socket until then.
  private var orders: [(NameOrder, FileDescriptor?)] = []

  /// The messages since the last time.
  mutating func takeOrders() -> [(NameOrder, FileDescriptor?)] {
    defer { orders = [] }
    return orders
  }

  /// Opens the sockets for these settings, and closes all others.
  mutating func change(to settings: NameServerSettings) throws(SystemError) {
    let wanted = (settings.capture.map(Self.places) ?? []) + (settings.programs.map(Self.places) ?? [])
    for (number, place) in places.sorted(by: { $0.key < $1.key }) where !wanted.contains(place) {
      orders.append((.close(number: number), nil))
      places[number] = nil
    }
    if settings.capture == nil { servers = [] }
    let present = Set(places.values)
    for place in wanted where !present.contains(place) {
      let socket: FileDescriptor
      do throws(SystemError) {
        socket = try NameServerSockets.listener(place.address, port: place.port, isStream: place.isStream, link: place.link)
      } catch {
        // A kernel may have no IPv6, and a bridge may be gone. Nothing is redirected there then, or the next plan corrects it.
        if place.link == nil, place.address.family == .v4 || error.code == EADDRINUSE { throw error }
        continue
      }
      places[next] = place
      orders.append((.listener(number: next, address: AddressText(place.address), isStream: place.isStream, askers: place.askers), socket))
      next = next == .max ? Self.firstNumber : next + 1
    }
  }

  private static func places(_ capture: NameCapture) -> [Place] {
    let own = NameCapture.ownAddresses.map { (address: $0, guest: NameCapture.Guest?.none) }
    let guests = capture.guests.flatMap { guest in guest.addresses.map { (address: $0, guest: NameCapture.Guest?.some(guest)) } }
    // The process takes a limited number of sockets.
    return (own + guests).prefix(mostCaptured / 2).flatMap { place in
      [false, true].map {
        Place(
          address: place.address, link: place.guest?.link, device: place.guest?.device, isStream: $0, port: NameCapture.port,
          askers: .captured)
      }
    }
  }

  private static func places(_ programs: ProgramNames) -> [Place] {
    programs.routes.filter(\.hasPort).flatMap { route in
      NameCapture.ownAddresses.flatMap { address in
        [false, true].map {
          Place(address: address, link: nil, device: nil, isStream: $0, port: route.port, askers: .ofRoute(route.number))
        }
      }
    }
  }

  /// The server that a question at one of these sockets was sent to, by `find`; `nil`: it cannot be found out.
  mutating func origin(
    at listener: UInt16, from client: IPAddress, port: UInt16, by find: (RedirectedFlow) -> (IPAddress, UInt16)?
  ) -> IPAddress? {
    guard let place = places[listener], place.askers == .captured else { return nil }
    let flow = RedirectedFlow(
      client: client, clientPort: port, listener: place.address, listenerPort: NameCapture.port, isStream: place.isStream)
    // A link-local server would need its link; our own addresses would be a loop.
    guard let (server, port) = find(flow), port == 53, !server.isLoopback, !server.isLinkLocal, server != place.address else { return nil }
    servers.removeAll { $0 == server }
    servers.append(server)
    if servers.count > Self.mostServers { servers.removeFirst() }
    return server
  }
}
