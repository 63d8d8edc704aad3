internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

/// A reading of the engine, with what a search needs beside it.
struct EngineSight: Equatable {
  var reading = EngineReading()
  /// The handshake messages that have come through the open relay.
  var relayed: UInt64 = 0
  /// The engine's clock, in nanoseconds since 1970.
  var clock: UInt64 = 0
}

/// An event of a client's life.
enum ClientEvent: Equatable {
  /// The agent starts the tunnel; with the kept login, if there is one.
  case start(ClientOptions, ClientMemory.Login?)
  case stop
  /// The login, the device or the engine has failed.
  case failed(TunnelFailure)
  case signedIn(LoginGrant)
  /// The engine runs on the tunnel's device.
  case engineStarted
  /// The agent has applied settings, except these.
  case applied(LifeToken, refused: [RefusedSetting])
  /// The agent has not applied settings.
  case refused(LifeToken, Refusal)
  case resolved(LifeToken, [IPAddress])
  case unresolved(LifeToken, DomainName, Refusal)
  /// The addresses of another gateway.
  case located([UInt8], [IPAddress])
  /// It is time to look at the engine.
  case look(LifeToken)
  /// The engine's state; `nil`: it gives none.
  case read(LifeToken, EngineSight?)
  case relayOpened(LifeToken)
  /// The relay cannot be opened, or has ended: the reason.
  case relayEnded(LifeToken, String)
  /// It is time to tell that the gateway is sought.
  case tell(LifeToken)
  case searchAgain(LifeToken)
  case network(isThere: Bool)
  case wake
  /// The gateway has sent settings through the tunnel, in a datagram of so many bytes.
  case pushed(SettingsPush, bytes: Int)
  /// The gateway's word that it takes the device's key no more.
  case sessionEnded(number: UInt64)
}

/// An effect of an event, for the rim to carry out.
enum ClientEffect: Equatable {
  case logIn
  /// Have the agent keep the login.
  case keep
  case openDevice
  /// Have the agent apply settings; `applied` or `refused` follows.
  case apply(LifeToken, LoginGrant)
  case ready
  case reassert(Word, String)
  /// Tell people how the packets go.
  case transport(String)
  case log(LogLine.Level, String, origin: Word)
  /// `resolved` or `unresolved` follows.
  case resolve(LifeToken, DomainName)
  /// Look up another gateway's name; `located` follows, if it has addresses.
  case locate([UInt8], DomainName)
  case engine(EngineOrder)
  /// Read the engine's state; `read` follows.
  case read(LifeToken)
  /// Take what the gateway sends through the tunnel.
  case listen(LoginGrant)
  /// Send an empty datagram to this address of the gateway.
  case greet(IPAddress)
  /// `relayOpened` or `relayEnded` follows.
  case openRelay(LifeToken, Endpoint, pin: String?)
  case closeRelay
  /// Give this event after so long, unless the run ends before.
  case wait(Duration, ClientEvent)
  /// End all that the run has: the login, the relay, questions and the engine.
  case leave
  /// The run has failed. `leave` precedes it.
  case fail(TunnelFailure)
}

/// An order to the engine about a gateway, known by its key.
enum EngineOrder: Equatable {
  /// Begin a session at this endpoint, with no other peer.
  case connect([UInt8], Endpoint)
  /// Begin a session through the open relay.
  case connectThroughRelay([UInt8])
  /// Send an initiation to an endpoint of the present gateway, and go on as before.
  case probe([UInt8], Endpoint)
  /// Send an initiation to another gateway.
  case measure([UInt8], Endpoint)
  case remove([UInt8])
  /// Seconds between keepalives; 0: none.
  case keepalive([UInt8], UInt16)
  /// Send to another endpoint in the session that is there.
  case move([UInt8], Endpoint, keepalive: UInt16)
}
