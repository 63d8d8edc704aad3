/// The descriptor numbers of an interface's two sockets. They stay the same for the interface's lifetime. Another port is put in their
/// place (dup2(2)), so the threads that use them need no update.
struct SocketNumbers {
  let v4: Int32
  let v6: Int32
}
