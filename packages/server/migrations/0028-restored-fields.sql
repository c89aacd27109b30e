-- The members of a state that a restore asks for; null: the whole state.
alter table restores add column fields text[];
