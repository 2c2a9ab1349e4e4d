"""What a person sees: magics, the event panel, the schema view, the tool form, the wire view."""
