"""What programs in a sandbox find beside Python: this folder is seen inside, read-only, and stands on their PYTHONPATH.

Nothing of the product imports from it. It knows the standard library only, and needs nothing there but the socket.
"""
